package main

// Reads and writes .safetensors files:
//
//	8 bytes    the length of the header, little end first
//	header     {"name": {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
//	the rest   the arrays, the last axis running fastest; the offsets count from here
//
// Every number becomes a float64. What can't be read is an error with a sentence.

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

type Tensor struct {
	Shape []int
	Data  []float64
}

type entry struct {
	Dtype   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

var little = binary.LittleEndian

// Width and reader of each type.
var types = map[string]struct {
	width  int
	number func([]byte) float64
}{
	"F64":  {8, func(b []byte) float64 { return math.Float64frombits(little.Uint64(b)) }},
	"F32":  {4, func(b []byte) float64 { return float64(math.Float32frombits(little.Uint32(b))) }},
	"I64":  {8, func(b []byte) float64 { return float64(int64(little.Uint64(b))) }},
	"BOOL": {1, func(b []byte) float64 { return math.Min(float64(b[0]), 1) }},
}

func size(shape []int) int {
	product := 1
	for _, length := range shape {
		product *= length
	}
	return product
}

func ReadTensors(path string) (map[string]Tensor, error) {
	whole, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(whole) < 8 || little.Uint64(whole) > uint64(len(whole)-8) {
		return nil, fmt.Errorf("%s: its header is cut", path)
	}
	length := little.Uint64(whole)
	data := whole[8+length:]
	var header map[string]json.RawMessage
	if err := json.Unmarshal(whole[8:8+length], &header); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	delete(header, "__metadata__")
	found := map[string]Tensor{}
	for name, text := range header {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		kind, known := types[e.Dtype]
		begin, end := e.Offsets[0], e.Offsets[1]
		if !known {
			return nil, fmt.Errorf("%s is of the type %s", name, e.Dtype)
		}
		if begin < 0 || begin > end || end > len(data) || end-begin != kind.width*size(e.Shape) {
			return nil, fmt.Errorf("%s isn't whole", name)
		}
		numbers := make([]float64, size(e.Shape))
		for n := range numbers {
			numbers[n] = kind.number(data[begin+n*kind.width:])
		}
		found[name] = Tensor{e.Shape, numbers}
	}
	return found, nil
}

func WriteTensors(path string, tensors map[string]Tensor) error {
	header, data := map[string]entry{}, []byte{}
	for name, tensor := range tensors {
		begin := len(data)
		for _, number := range tensor.Data {
			data = little.AppendUint64(data, math.Float64bits(number))
		}
		header[name] = entry{"F64", tensor.Shape, [2]int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 { // the arrays begin at a multiple of 8
		text = append(text, ' ')
	}
	whole := append(little.AppendUint64(nil, uint64(len(text))), text...)
	return os.WriteFile(path, append(whole, data...), 0o644)
}
