// The oracle: Prometheus' own PromQL engine and rule groups, driven by JSON lines. One request per
// line on standard input, one answer per line on standard output, in the same order. A request
// without series keeps those of the previous one.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
)

// A request is an instant query at start, start + step, … up to end, as evaluated by a rule with
// this interval.
type request struct {
	ID                 int64         `json:"id"`
	Series             []inputSeries `json:"series"`
	Expr               string        `json:"expr"`
	StartMs            int64         `json:"start_ms"`
	EndMs              int64         `json:"end_ms"`
	StepMs             int64         `json:"step_ms"`
	LookbackMs         int64         `json:"lookback_ms"`
	SubqueryIntervalMs int64         `json:"subquery_interval_ms"`
	// Off in Prometheus 3 without a feature flag; promqltest enables it.
	DelayedNameRemoval bool `json:"delayed_name_removal"`
	// Rule groups instead of an expression (groups.go); StepMs is the interval of groups without one.
	Versions []version `json:"versions"`
}

type inputSeries struct {
	Labels  map[string]string `json:"labels"`
	Samples []inputSample     `json:"samples"` // ascending by time
}

// inputSample is [t_ms, "value"]: a number in Go's notation (hexadecimal ones are exact), NaN,
// ±Inf, or stale.
type inputSample struct {
	t int64
	v float64
}

func (s *inputSample) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &[]any{&s.t, &text}); err != nil {
		return err
	}
	if text == "stale" {
		s.v = staleMarker
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(v, 0) {
		return fmt.Errorf("sample value %q: %w", text, err)
	}
	s.v = v
	return nil
}

type answer struct {
	ID    int64  `json:"id"`
	Type  string `json:"type,omitempty"`  // scalar, vector, string
	Text  string `json:"text,omitempty"`  // for a string
	Error string `json:"error,omitempty"` // of the parser, or of the first failing tick
	Ticks []tick `json:"ticks,omitempty"`
}

type tick struct {
	T        int64     `json:"t"`
	Elements []element `json:"elements"` // in the engine's order, which sort() and topk() determine
}

type element struct {
	Labels map[string]string `json:"labels"`
	Value  string            `json:"value"` // hexadecimal, NaN or ±Inf
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	decoder := json.NewDecoder(in)
	encoder := json.NewEncoder(out)
	engines := newEngines()
	sets := newRuleSets(engines.parser)
	var store *memory
	for decoder.More() {
		var asked request
		if err := decoder.Decode(&asked); err != nil {
			fail("request: %v", err)
		}
		if asked.Series != nil || store == nil {
			store = newMemory(asked.Series)
		}
		var result any
		if asked.Versions != nil {
			// Recorded series are lost after this.
			result = sets.answer(&asked, engines.engine(engineKey{asked.SubqueryIntervalMs, false}), store)
			store = nil
		} else {
			result = engines.answer(&asked, store)
		}
		if err := encoder.Encode(result); err != nil {
			fail("answer: %v", err)
		}
		// Buffer answers only while more requests are available.
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				fail("answer: %v", err)
			}
		}
	}
	out.Flush()
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "oracle: "+format+"\n", arguments...)
	os.Exit(1)
}
