package main

import (
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// The samples of ../bench_data.h, from the same formula.
const (
	sources = 8
	baseMs  = 1_767_225_600_000

	realistic = "realistic"
	noise     = "noise"
	dense     = "dense"

	missingBits = 0x7ff0000000000003 // Pitwall's marker of a missing value
)

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

type data struct {
	kind        string
	generations []int
	bits        []uint64 // values of the last second
	replaced    []int
	checksum    uint64
}

func newData(kind string, series int) *data {
	return &data{kind: kind, generations: make([]int, series), bits: make([]uint64, series)}
}

// second computes the values of second t; must be called in time order. A replaced series has a
// stale marker in this second, and its successor starts in the next one.
func (d *data) second(t int) {
	for _, i := range d.replaced {
		d.generations[i]++
	}
	d.replaced = d.replaced[:0]
	for i := range d.bits {
		d.bits[i] = d.value(uint64(i), uint64(t))
	}
	if n := len(d.bits); d.kind == realistic && t%60 == 30 {
		for k := range max(1, n/1000) {
			i := int(mix(uint64(t)*1000+uint64(k)) % uint64(n))
			if d.bits[i] == value.StaleNaN {
				continue
			}
			d.bits[i] = value.StaleNaN
			d.replaced = append(d.replaced, i)
		}
	}
	for _, bits := range d.bits {
		d.checksum = mix(d.checksum ^ bits)
	}
}

func (d *data) value(i, t uint64) uint64 {
	r := mix(mix(i) ^ t)
	u := r >> 32
	switch {
	case d.kind != dense && r%50 == 0:
		return missingBits
	case d.kind == noise:
		return math.Float64bits(float64(u%1000) / 1000)
	case d.kind == realistic && mix(mix(i+1_000_003)^((t+i%20)/20))%100 == 0:
		return math.Float64bits(0.996 + float64(u%4)/1000)
	}
	return math.Float64bits(float64(u%990) / 1000)
}

func (d *data) timeMs(source, t int) int64 {
	ms := baseMs + int64(t)*1000
	if d.kind != dense {
		ms += int64(source) * 100
	}
	return ms
}

func (d *data) labels(i int) labels.Labels {
	gpu := fmt.Sprint(i / sources)
	if d.generations[i] > 0 {
		gpu += fmt.Sprintf("-%d", d.generations[i])
	}
	return labels.FromStrings(labels.MetricName, "m", "node", fmt.Sprint(i%sources), "gpu", gpu)
}
