package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
)

type unused = storage.Appender

// recorder appends recorded samples to the memory that rules read, and keeps them for the answer.
type recorder struct {
	unused // methods that rules do not call are missing

	store *memory
	at    *groupTick
}

func (r *recorder) begin(at *groupTick)                       { r.at = at }
func (r *recorder) Appender(context.Context) storage.Appender { return r }
func (r *recorder) SetOptions(*storage.AppendOptions)         {}
func (r *recorder) Commit() error                             { return nil }
func (r *recorder) Rollback() error                           { return fmt.Errorf("nothing rolls back here") }

// Append rejects the same samples as a head of the TSDB.
func (r *recorder) Append(_ storage.SeriesRef, lset labels.Labels, t int64, v float64) (storage.SeriesRef, error) {
	series := r.store.get(lset)
	if n := len(series.t); n > 0 && series.t[n-1] >= t {
		if series.t[n-1] > t {
			return 0, storage.ErrOutOfOrderSample
		}
		if math.Float64bits(series.v[n-1]) != math.Float64bits(v) {
			return 0, storage.NewDuplicateFloatErr(t, series.v[n-1], v)
		}
		return 0, nil
	}
	series.t = append(series.t, t)
	series.v = append(series.v, v)
	text := hex(v)
	if value.IsStaleNaN(v) {
		text = "stale"
	}
	r.at.Rec = append(r.at.Rec, [3]any{fmt.Sprint(t), text, flat(lset)})
	return 0, nil
}

// appendStale ends a series between two ticks.
func (r *recorder) appendStale(lset labels.Labels, t int64) {
	series := r.store.get(lset)
	if n := len(series.t); n > 0 && series.t[n-1] < t {
		series.t = append(series.t, t)
		series.v = append(series.v, staleMarker)
	}
}

// get finds or adds a series.
func (m *memory) get(lset labels.Labels) *floatSeries {
	at, found := slices.BinarySearchFunc(m.all, lset, func(s *floatSeries, l labels.Labels) int {
		return labels.Compare(s.labels, l)
	})
	if !found {
		m.all = slices.Insert(m.all, at, &floatSeries{labels: lset})
	}
	return m.all[at]
}
