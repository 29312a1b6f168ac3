// Cost of rules in Prometheus: its TSDB in a separate directory (without a WAL), its rule manager,
// and its engine; without HTTP, scrapes, and a clock. A rule group is evaluated each second of
// event time, and recorded samples are appended, as in the server. Prints the CPU time of the
// evaluations, and separately of appending the samples.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Also excluded by pipeline_bench.
const warmUp = 310

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// feeder appends the samples of one source and second, using series references like a scrape.
type feeder struct {
	data *data
	db   *tsdb.DB
	refs []storage.SeriesRef
}

func (f *feeder) feed(source, t int) {
	app := f.db.Appender(context.Background())
	for i := source; i < len(f.data.bits); i += sources {
		if f.data.bits[i] == missingBits {
			continue
		}
		var set labels.Labels
		if f.refs[i] == 0 {
			set = f.data.labels(i)
		}
		ref, err := app.Append(f.refs[i], set, f.data.timeMs(source, t), math.Float64frombits(f.data.bits[i]))
		if err != nil {
			fail(err)
		}
		f.refs[i] = ref
	}
	if err := app.Commit(); err != nil {
		fail(err)
	}
}

func (f *feeder) second(t int) {
	for _, i := range f.data.replaced {
		f.refs[i] = 0 // the successor starts
	}
	f.data.second(t)
}

func openTSDB() (*tsdb.DB, func()) {
	folder, err := os.MkdirTemp("", "vs_prometheus")
	if err != nil {
		fail(err)
	}
	options := tsdb.DefaultOptions()
	options.WALSegmentSize = -1 // no WAL: cheaper for Prometheus than in production
	db, err := tsdb.Open(folder, slog.New(slog.DiscardHandler), nil, options, nil)
	if err != nil {
		fail(err)
	}
	db.DisableCompactions()
	return db, func() {
		db.Close()
		os.RemoveAll(folder)
	}
}

func loadGroup(file string, db *tsdb.DB) (*rules.Group, rules.QueryFunc) {
	language := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, // the server's defaults
		Timeout:    2 * time.Minute,
		Parser:     language,
	})
	query := rules.EngineQueryFunc(engine, db)
	manager := rules.NewManager(&rules.ManagerOptions{
		ExternalURL: &url.URL{},
		QueryFunc:   query,
		NotifyFunc:  func(context.Context, string, ...*rules.Alert) {},
		Context:     context.Background(),
		Appendable:  db,
		Queryable:   db,
		Logger:      slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		ResendDelay: time.Minute,
		Parser:      language,
	})
	groups, errs := manager.LoadGroups(time.Second, labels.EmptyLabels(), "", nil, false, file)
	if errs != nil {
		fail(errs[0])
	}
	return groups[rules.GroupKey(file, "ten")], query
}

// check prints the result of each rule at a tick: number of elements, number of firing elements, and
// sum of values.
func check(group *rules.Group, query rules.QueryFunc, at time.Time) {
	for _, rule := range group.Rules() {
		if err := rule.LastError(); err != nil {
			fail(err)
		}
		count, firing, sum := 0, 0, 0.0
		switch rule := rule.(type) {
		case *rules.AlertingRule:
			for _, alert := range rule.ActiveAlerts() {
				count++
				sum += alert.Value
				if alert.State == rules.StateFiring {
					firing++
				}
			}
		case *rules.RecordingRule:
			vector, err := query(context.Background(), rule.Name(), at)
			if err != nil {
				fail(err)
			}
			for _, sample := range vector {
				count++
				sum += sample.F
			}
		}
		fmt.Printf("check %s %d %d %.17g\n", rule.Name(), count, firing, sum)
	}
}

func main() {
	series := flag.Int("series", 1000, "")
	seconds := flag.Int("seconds", warmUp+60, "of event time; the first 310 are not evaluated")
	kind := flag.String("data", realistic, "realistic, noise, or dense")
	file := flag.String("rules", "", "a rule file with a group \"ten\"")
	flag.Parse()
	runtime.GOMAXPROCS(1)

	db, closeTSDB := openTSDB()
	defer closeTSDB()
	group, query := loadGroup(*file, db)
	feed := &feeder{data: newData(*kind, *series), db: db, refs: make([]storage.SeriesRef, *series)}

	evaluating, evaluations := 0.0, 0
	appending := cpuSeconds()
	var at time.Time
	for t := range *seconds {
		feed.second(t)
		// A tick sees no later samples: in dense data all sources have reported in time, otherwise only
		// the first.
		before := 1
		if *kind == dense {
			before = sources
		}
		for source := range before {
			feed.feed(source, t)
		}
		if t >= warmUp {
			at = timestamp.Time(baseMs + int64(t)*1000)
			begin := cpuSeconds()
			group.Eval(context.Background(), at)
			evaluating += cpuSeconds() - begin
			evaluations += len(group.Rules())
		}
		for source := before; source < sources; source++ {
			feed.feed(source, t)
		}
	}
	appending = cpuSeconds() - appending - evaluating
	fmt.Printf("Prometheus: %d series, %d s, %d rules\n", *series, *seconds-warmUp, len(group.Rules()))
	fmt.Printf("cpu: %.3f s, %.2f ns per rule-series, appending %.1f ns per sample, checksum %016x\n", evaluating,
		evaluating*1e9/float64(evaluations)/float64(*series),
		appending*1e9/float64(*series)/float64(*seconds), feed.data.checksum)
	check(group, query, at)
}
