// Bytes of a safetensors file to typed arrays. The file is little-endian, as browsers are.

const PLAIN = {
  F64: [8, (buffer) => new Float64Array(buffer)],
  F32: [4, (buffer) => new Float32Array(buffer)],
  F16: [2, (buffer) => each(new Uint16Array(buffer), half)],
  I64: [8, (buffer) => whole(new BigInt64Array(buffer))],
  I32: [4, (buffer) => new Int32Array(buffer)],
  U8: [1, (buffer) => new Uint8Array(buffer)],
  BOOL: [1, (buffer) => new Uint8Array(buffer)],
};

// {data, shape, strides} of a tensor from its bytes; strides count entries, not bytes.
export function decode(tensor, buffer) {
  const kind = PLAIN[tensor.dtype];
  if (!kind) {
    const known = Object.keys(PLAIN).join(", ");
    throw new Error(`a tensor of the type ${tensor.dtype}: expected one of ${known}`);
  }
  const [width, make] = kind;
  const count = tensor.shape.reduce((product, size) => product * size, 1);
  if (buffer.byteLength !== count * width) {
    throw new Error(`${buffer.byteLength} bytes came, not the ${count * width} of a tensor`);
  }
  return { data: make(buffer), shape: tensor.shape, strides: strides(tensor.shape) };
}

// How far apart neighbours along each axis stand.
export function strides(shape) {
  const found = new Array(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    found[axis] = step;
    step *= shape[axis];
  }
  return found;
}

// Piece by piece, since the text of a whole trace decoded at once would stand in memory twice.
// Four characters hold three bytes.
export function fromBase64(text, begin, end) {
  const first = Math.floor(begin / 3);
  const binary = atob(text.slice(first * 4, Math.ceil(end / 3) * 4));
  const bytes = new Uint8Array(end - begin);
  const shift = begin - first * 3;
  for (let at = 0; at < bytes.length; at += 1) {
    bytes[at] = binary.charCodeAt(at + shift);
  }
  return bytes.buffer;
}

function whole(integers) {
  return each(integers, Number, Float64Array);
}

function each(numbers, change, Kind = Float32Array) {
  const found = new Kind(numbers.length);
  for (let at = 0; at < numbers.length; at += 1) {
    found[at] = change(numbers[at]);
  }
  return found;
}

// One bit of sign, five of exponent, ten of fraction.
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) {
    return sign * fraction * 2 ** -24;
  }
  if (exponent === 0x1f) {
    return fraction ? NaN : sign * Infinity;
  }
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
