//! Reads and writes .safetensors files.
//!
//!     8 bytes    the length of the header, little end first
//!     header     {"name": {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
//!     the rest   the arrays, the last axis running fastest; the offsets count from here
//!
//! Every number becomes an f64. What can't be read is an error with a sentence.

use std::{convert::TryInto, fs, io}; // TryInto: for the edition of 2015 too

pub struct Tensor {
    pub shape: Vec<usize>,
    pub data: Vec<f64>,
}

pub struct Tensors {
    header: String,
    data: Vec<u8>,
}

pub fn broken<T>(what: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidData, what))
}

/// What stands between two texts; an error names what it was looked for.
fn between<'a>(text: &'a str, from: &str, to: &str) -> io::Result<&'a str> {
    let rest = text.split_once(from).map(|(_, rest)| rest);
    match rest.and_then(|rest| rest.split_once(to)) {
        Some((inside, _)) => Ok(inside),
        None => broken(&format!("no {from} in the header")),
    }
}

fn numbers(text: &str) -> io::Result<Vec<usize>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().or_else(|_| broken("a length is no number"))).collect()
}

impl Tensors {
    pub fn open(path: &str) -> io::Result<Tensors> {
        let mut header = fs::read(path)?;
        let first = header.first_chunk().map_or(usize::MAX, |&b| u64::from_le_bytes(b) as usize);
        if first > header.len().saturating_sub(8) { return broken("the file is cut"); }
        let data = header.split_off(8 + first);
        Ok(Tensors { header: String::from_utf8_lossy(&header[8..]).into_owned(), data })
    }

    pub fn get(&self, name: &str) -> io::Result<Tensor> {
        // There are no blanks between the parts; a quote inside another text has a backslash before it.
        let entry = between(&self.header, &format!("\"{name}\":"), "}")?;
        let shape = numbers(between(entry, "\"shape\":[", "]")?)?;
        let ends = numbers(between(entry, "\"data_offsets\":[", "]")?)?;
        let bytes = ends.get(1).and_then(|&end| self.data.get(ends[0]..end)).unwrap_or(&[]);
        let data: Vec<f64> = match between(entry, "\"dtype\":\"", "\"")? {
            "F64" => bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
            "F32" => bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()) as f64).collect(),
            "I64" => bytes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f64).collect(),
            "BOOL" => bytes.iter().map(|&b| (b != 0) as u8 as f64).collect(),
            other => return broken(&format!("{name} is of the type {other}")),
        };
        let whole = data.len() == shape.iter().product();
        if whole { Ok(Tensor { shape, data }) } else { broken(&format!("{name} isn't whole")) }
    }
}

pub fn write(path: &str, tensors: &[(String, Tensor)]) -> io::Result<()> {
    let (mut entries, mut data) = (vec![], vec![]);
    for (name, tensor) in tensors {
        let begin = data.len();
        data.extend(tensor.data.iter().flat_map(|number| number.to_le_bytes()));
        let (shape, end) = (&tensor.shape, data.len());
        entries.push(format!(r#""{name}":{{"dtype":"F64","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#));
    }
    let mut json = format!("{{{}}}", entries.join(","));
    while json.len() % 8 != 0 { json.push(' '); } // the arrays begin at a multiple of 8
    fs::write(path, [&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), &data].concat())
}
