// The oracle: Prometheus' own PromQL engine and rule groups, asked by JSON lines. One request per line on standard input, one answer
// per line on standard output, in the same order. A request without series keeps those of the request before.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
)

// A request asks for one instant query at start, start + step, … up to end: what a rule with this interval sees.
type request struct {
	ID                 int64         `json:"id"`
	Series             []inputSeries `json:"series"`
	Expr               string        `json:"expr"`
	StartMs            int64         `json:"start_ms"`
	EndMs              int64         `json:"end_ms"`
	StepMs             int64         `json:"step_ms"`
	LookbackMs         int64         `json:"lookback_ms"`
	SubqueryIntervalMs int64         `json:"subquery_interval_ms"`
	// Prometheus 3 has it off unless asked by a feature flag; promqltest has it on.
	DelayedNameRemoval bool `json:"delayed_name_removal"`
	// Rule groups instead of an expression (groups.go): StepMs is the interval of groups that say none.
	Versions []version `json:"versions"`
}

type inputSeries struct {
	Labels  map[string]string `json:"labels"`
	Samples []inputSample     `json:"samples"` // by ascending time
}

// inputSample is [t_ms, "value"]: a number in any notation of Go (hexadecimal ones lose nothing), NaN, ±Inf, or stale.
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
	Text  string `json:"text,omitempty"`  // of a string
	Error string `json:"error,omitempty"` // of the parser, or of the first tick that fails
	Ticks []tick `json:"ticks,omitempty"`
}

type tick struct {
	T        int64     `json:"t"`
	Elements []element `json:"elements"` // in the order of the engine, which sort() and topk() decide
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
		var told any
		if asked.Versions != nil {
			// What rules record is gone after it.
			told = sets.answer(&asked, engines.engine(engineKey{asked.SubqueryIntervalMs, false}), store)
			store = nil
		} else {
			told = engines.answer(&asked, store)
		}
		if err := encoder.Encode(told); err != nil {
			fail("answer: %v", err)
		}
		// Answers may wait for each other only while more requests are at hand.
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
