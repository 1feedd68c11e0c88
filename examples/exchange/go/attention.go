// The first steps of attention in block 0 of a GPT-2, from the weights and the input of a case.
//
//	go build -o attention
//	./attention CASE.safetensors DUMP.safetensors
//	handformer check DUMP.safetensors --against CASE.safetensors
package main

import (
	"errors"
	"fmt"
	"math"
	"os"
)

// out[b,h,t,c] = sum(i, x[b,t,i] * w[i,h*dk+c]) + bias[h*dk+c]
func project(x, w, bias Tensor, heads int) Tensor {
	batch, places, width, columns := x.Shape[0], x.Shape[1], x.Shape[2], w.Shape[1]
	dk := columns / heads
	out := Tensor{Shape: []int{batch, heads, places, dk}}
	for b := 0; b < batch; b++ {
		for h := 0; h < heads; h++ {
			for t := 0; t < places; t++ {
				for j := h * dk; j < (h+1)*dk; j++ {
					sum := bias.Data[j]
					for i := 0; i < width; i++ {
						sum += x.Data[(b*places+t)*width+i] * w.Data[i*columns+j]
					}
					out.Data = append(out.Data, sum)
				}
			}
		}
	}
	return out
}

// scores[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h,s,c]) / sqrt(dk)
func compare(q, k Tensor) Tensor {
	places, dk := q.Shape[2], q.Shape[3]
	scores := Tensor{Shape: []int{q.Shape[0], q.Shape[1], places, places}}
	for pair := 0; pair < q.Shape[0]*q.Shape[1]; pair++ {
		for t := 0; t < places; t++ {
			for s := 0; s < places; s++ {
				sum := 0.0
				for c := 0; c < dk; c++ {
					sum += q.Data[(pair*places+t)*dk+c] * k.Data[(pair*places+s)*dk+c]
				}
				scores.Data = append(scores.Data, sum/math.Sqrt(float64(dk)))
			}
		}
	}
	return scores
}

func run(given []string) error {
	if len(given) != 2 {
		return errors.New("expected CASE and DUMP, two files")
	}
	from, err := ReadTensors(given[0])
	if err != nil {
		return err
	}
	const at = "blocks.0.attention."
	for _, name := range []string{"q", "w_q", "b_q", "w_k", "b_k"} {
		if _, known := from[at+name]; !known {
			return fmt.Errorf("no %s%s in the case", at, name)
		}
	}
	x, heads := from["blocks.0.norm_1.out"], from[at+"q"].Shape[1]
	q := project(x, from[at+"w_q"], from[at+"b_q"], heads)
	k := project(x, from[at+"w_k"], from[at+"b_k"], heads)
	return WriteTensors(given[1], map[string]Tensor{at + "q": q, at + "k": k, at + "scores": compare(q, k)})
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "attention:", err)
		os.Exit(2)
	}
}
