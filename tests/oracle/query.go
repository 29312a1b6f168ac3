package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// The limits of promqltest are meant for its own small data.
const (
	maxSamples = 50_000_000
	timeout    = 20 * time.Second
)

// engines holds one engine per set of options, since options are fixed per engine.
type engines struct {
	parser parser.Parser
	made   map[engineKey]*promql.Engine
}

type engineKey struct {
	subqueryIntervalMs int64
	delayedNameRemoval bool
}

func newEngines() *engines {
	return &engines{
		parser: parser.NewParser(parser.Options{
			EnableExperimentalFunctions:  true,
			ExperimentalDurationExpr:     true,
			EnableExtendedRangeSelectors: true,
			EnableBinopFillModifiers:     true,
		}),
		made: map[engineKey]*promql.Engine{},
	}
}

// engine has the options of promqltest.NewTestEngine.
func (e *engines) engine(key engineKey) *promql.Engine {
	if e.made[key] == nil {
		e.made[key] = promql.NewEngine(promql.EngineOpts{
			MaxSamples:               maxSamples,
			Timeout:                  timeout,
			NoStepSubqueryIntervalFn: func(int64) int64 { return key.subqueryIntervalMs },
			EnableAtModifier:         true,
			EnableNegativeOffset:     true,
			EnableDelayedNameRemoval: key.delayedNameRemoval,
			UseStartTimestamps:       true,
			Parser:                   e.parser,
		})
	}
	return e.made[key]
}

// answer evaluates every tick. An expression fails if any tick fails.
func (e *engines) answer(asked *request, store *memory) *answer {
	result := &answer{ID: asked.ID}
	interval := asked.SubqueryIntervalMs
	if interval <= 0 {
		interval = time.Minute.Milliseconds()
	}
	engine := e.engine(engineKey{interval, asked.DelayedNameRemoval})
	lookback := time.Duration(asked.LookbackMs) * time.Millisecond
	if lookback <= 0 {
		lookback = 5 * time.Minute
	}
	step := asked.StepMs
	if step <= 0 {
		step = time.Minute.Milliseconds()
	}
	opts := promql.NewPrometheusQueryOpts(false, lookback)
	for t := asked.StartMs; t <= asked.EndMs; t += step {
		at := tick{T: t}
		if err := e.instant(engine, store, opts, asked.Expr, &at, result); err != nil {
			return &answer{ID: asked.ID, Error: err.Error()}
		}
		result.Ticks = append(result.Ticks, at)
	}
	return result
}

func (*engines) instant(engine *promql.Engine, store *memory, opts promql.QueryOpts, expr string, at *tick,
	result *answer) error {
	query, err := engine.NewInstantQuery(context.Background(), store, opts, expr, time.UnixMilli(at.T).UTC())
	if err != nil {
		return err
	}
	defer query.Close()
	executed := query.Exec(context.Background())
	if executed.Err != nil {
		return executed.Err
	}
	result.Type = string(executed.Value.Type())
	at.Elements = []element{}
	switch value := executed.Value.(type) {
	case promql.Vector:
		for _, sample := range value {
			if sample.H != nil {
				return fmt.Errorf("a native histogram in the answer")
			}
			at.Elements = append(at.Elements, element{sample.Metric.Map(), hex(sample.F)})
		}
	case promql.Scalar:
		at.Elements = append(at.Elements, element{map[string]string{}, hex(value.V)})
	case promql.String:
		result.Text = value.V
	default:
		return fmt.Errorf("an answer of type %s", executed.Value.Type())
	}
	return nil
}

func hex(value float64) string { return strconv.FormatFloat(value, 'x', -1, 64) }
