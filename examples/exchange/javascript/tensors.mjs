// Reads and writes .safetensors files:
//
//   8 bytes    the length of the header, little end first
//   header     {"name": {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
//   the rest   the arrays, the last axis running fastest; the offsets count from here
//
// A tensor is {shape, data}, its numbers in a Float64Array. What can't be read is thrown as an Error.
import { readFileSync, writeFileSync } from "node:fs";

const KINDS = {
  F64: [8, (view, at) => view.getFloat64(at, true)],
  F32: [4, (view, at) => view.getFloat32(at, true)],
  I64: [8, (view, at) => Number(view.getBigInt64(at, true))],
  BOOL: [1, (view, at) => Number(view.getUint8(at) !== 0)],
};

const size = (shape) => shape.reduce((product, length) => product * length, 1);

export function readTensors(path) {
  const file = readFileSync(path);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const length = file.length < 8 ? Infinity : Number(view.getBigUint64(0, true));
  if (length > file.length - 8) throw new Error(`${path}: its header is cut`);
  const { __metadata__, ...header } = JSON.parse(file.toString("utf8", 8, 8 + length));
  const found = {};
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(header)) {
    if (!(dtype in KINDS)) throw new Error(`${name} is of the type ${dtype}`);
    const [width, number] = KINDS[dtype];
    const start = 8 + length + begin;
    if (end - begin !== width * size(shape) || begin < 0 || 8 + length + end > file.length)
      throw new Error(`${name} isn't whole`);
    const data = Float64Array.from({ length: size(shape) }, (_, n) => number(view, start + n * width));
    found[name] = { shape, data };
  }
  return found;
}

export function writeTensors(path, tensors) {
  const header = {};
  let end = 0;
  for (const [name, { shape, data }] of Object.entries(tensors))
    header[name] = { dtype: "F64", shape, data_offsets: [end, (end += 8 * data.length)] };
  const json = Buffer.from(JSON.stringify(header));
  const padded = Math.ceil(json.length / 8) * 8; // the arrays begin at a multiple of 8
  const file = Buffer.alloc(8 + padded + end, " ");
  file.writeBigUInt64LE(BigInt(padded));
  json.copy(file, 8);
  let at = 8 + padded;
  for (const { data } of Object.values(tensors)) for (const number of data) at = file.writeDoubleLE(number, at);
  writeFileSync(path, file);
}
