package main

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

var staleMarker = math.Float64frombits(value.StaleNaN)

// memory is a storage of float series, sorted by labels: every selector returns them in this order.
type memory struct {
	all []*floatSeries
}

type floatSeries struct {
	labels labels.Labels
	t      []int64
	v      []float64
}

func newMemory(input []inputSeries) *memory {
	store := &memory{}
	for _, one := range input {
		series := &floatSeries{labels: labels.FromMap(one.Labels)}
		for _, sample := range one.Samples {
			series.t = append(series.t, sample.t)
			series.v = append(series.v, sample.v)
		}
		store.all = append(store.all, series)
	}
	slices.SortFunc(store.all, func(a, b *floatSeries) int { return labels.Compare(a.labels, b.labels) })
	return store
}

func (m *memory) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{m, mint, maxt}, nil
}

type querier struct {
	store      *memory
	mint, maxt int64
}

func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{at: -1}
	for _, series := range q.store.all {
		if matches(series.labels, matchers) && series.overlaps(q.mint, q.maxt) {
			set.found = append(set.found, series)
		}
	}
	return set
}

func matches(of labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(of.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

func (q *querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	return nil, nil, nil
}

func (q *querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	return nil, nil, nil
}

func (q *querier) Close() error { return nil }

type seriesSet struct {
	found []*floatSeries
	at    int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.found) }
func (s *seriesSet) At() storage.Series                { return s.found[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

func (s *floatSeries) Labels() labels.Labels { return s.labels }

func (s *floatSeries) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return &iterator{series: s, at: -1}
}

// overlaps returns whether the series has a sample between both times, inclusive.
func (s *floatSeries) overlaps(mint, maxt int64) bool {
	first := sort.Search(len(s.t), func(i int) bool { return s.t[i] >= mint })
	return first < len(s.t) && s.t[first] <= maxt
}

// iterator iterates over the floats of one series; there are no histograms and no start timestamps.
type iterator struct {
	series *floatSeries
	at     int
}

func (i *iterator) kind() chunkenc.ValueType {
	if i.at >= len(i.series.t) {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

func (i *iterator) Next() chunkenc.ValueType {
	if i.at < len(i.series.t) {
		i.at++
	}
	return i.kind()
}

func (i *iterator) Seek(t int64) chunkenc.ValueType {
	if i.at < 0 {
		i.at = 0
	}
	rest := i.series.t[i.at:]
	i.at += sort.Search(len(rest), func(n int) bool { return rest[n] >= t })
	return i.kind()
}

func (i *iterator) At() (int64, float64) { return i.series.t[i.at], i.series.v[i.at] }
func (i *iterator) AtT() int64           { return i.series.t[i.at] }
func (i *iterator) AtST() int64          { return 0 }
func (i *iterator) Err() error           { return nil }

func (i *iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	panic("no histograms here")
}

func (i *iterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	panic("no histograms here")
}
