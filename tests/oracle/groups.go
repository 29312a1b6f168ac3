package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"
	"unsafe"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
)

// version is a rule set, active at the ticks after FromMs.
type version struct {
	FromMs int64      `json:"from_ms"`
	Files  []ruleFile `json:"files"`
	// Kept lists rules (pack/group/name#n) that this version did not change: only they keep their
	// alerts. Prometheus matches by name and labels, whatever else was edited.
	Kept []string `json:"kept"`
}

type ruleFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

type groupsAnswer struct {
	ID    int64       `json:"id"`
	Error string      `json:"error,omitempty"`
	Ticks []groupTick `json:"ticks"`
	// Conflicts counts series recorded by a rule at a time when another rule had recorded another
	// value. The first one counts on both sides; Prometheus marks the second rule as failed.
	Conflicts int `json:"conflicts"`
	// KeptOverLimit counts alerts restored manually where Prometheus would have dropped them: a rule
	// over its limit.
	KeptOverLimit int `json:"kept_over_limit"`
	// KeptAtReload counts alerts of unchanged rules that Prometheus would have lost at reloads.
	KeptAtReload int `json:"kept_at_reload"`
}

// groupTick has the results of all groups that were due: see tests/differential/group_eval.cc,
// which has the same output.
type groupTick struct {
	T      int64       `json:"t"`
	Failed [][2]string `json:"failed"`
	Alerts [][2]any    `json:"alerts"` // rule, [state, active, fired, value, labels, annotations, kept]
	Rec    [][3]any    `json:"rec"`
}

// ruleSets evaluates Prometheus' own rules.Group at given times.
type ruleSets struct {
	parser  parser.Parser
	metrics *rules.Metrics
}

func newRuleSets(p parser.Parser) *ruleSets {
	return &ruleSets{parser: p, metrics: rules.NewGroupMetrics(nil)}
}

type namedGroup struct {
	group *rules.Group
	names []string // names of its rules in Pitwall
}

// loader provides the files of a version to a manager.
type loader struct {
	parser parser.Parser
	parsed map[string]*rulefmt.RuleGroups
}

func (l *loader) Load(name string, _ bool, _ model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	return l.parsed[name], nil
}
func (l *loader) Parse(query string) (parser.Expr, error) { return l.parser.ParseExpr(query) }

func (r *ruleSets) answer(asked *request, engine *promql.Engine, store *memory) (result *groupsAnswer) {
	result = &groupsAnswer{ID: asked.ID}
	logger := promslog.NewNopLogger()
	load := &loader{parser: r.parser}
	rec := &recorder{store: store}
	options := &rules.ManagerOptions{
		QueryFunc:   rules.EngineQueryFunc(engine, store),
		NotifyFunc:  func(context.Context, string, ...*rules.Alert) {},
		Appendable:  rec,
		Queryable:   store,
		Context:     context.Background(),
		ExternalURL: &url.URL{},
		Logger:      logger,
		Metrics:     r.metrics,
		GroupLoader: load,
		Parser:      r.parser,
		// Groups run one after the other, and so do their rules.
		ConcurrentEvalsEnabled: false,
	}
	manager := rules.NewManager(options)
	var groups []namedGroup
	next := 0
	for t := asked.StartMs; t <= asked.EndMs; {
		for next < len(asked.Versions) && asked.Versions[next].FromMs < t {
			fresh, err := r.load(manager, load, &asked.Versions[next], asked.StepMs, logger)
			if err != nil {
				result.Error = err.Error()
				return result
			}
			groups = r.reload(groups, fresh, asked.Versions[next].Kept, rec, asked.Versions[next].FromMs, result)
			next++
		}
		// Next time at which something is due.
		due := int64(math.MaxInt64)
		for _, g := range groups {
			due = min(due, ceilTo(t, g.group.Interval().Milliseconds()))
		}
		if next < len(asked.Versions) && asked.Versions[next].FromMs < due {
			t = asked.Versions[next].FromMs + 1
			continue
		}
		if due > asked.EndMs {
			break
		}
		at := groupTick{T: due, Failed: [][2]string{}, Alerts: [][2]any{}, Rec: [][3]any{}}
		rec.begin(&at)
		for _, g := range groups {
			if due%g.group.Interval().Milliseconds() == 0 {
				r.eval(g, due, &at, result)
			}
		}
		result.Ticks = append(result.Ticks, at)
		t = due + 1
	}
	return result
}

func ceilTo(t, step int64) int64 { return (t + step - 1) / step * step }

func (r *ruleSets) load(manager *rules.Manager, load *loader, v *version, intervalMs int64,
	logger *slog.Logger) ([]namedGroup, error) {
	load.parsed = map[string]*rulefmt.RuleGroups{}
	var names []string
	for _, file := range v.Files {
		parsed, errs := rulefmt.Parse([]byte(file.Text), false, model.UTF8Validation, r.parser, logger)
		if errs != nil {
			return nil, fmt.Errorf("%s: %v", file.Name, errs)
		}
		load.parsed[file.Name] = parsed
		names = append(names, file.Name)
	}
	sort.Strings(names)
	made, errs := manager.LoadGroups(time.Duration(intervalMs)*time.Millisecond, labels.EmptyLabels(), "", nil, false,
		names...)
	if errs != nil {
		return nil, fmt.Errorf("%v", errs)
	}
	var groups []namedGroup
	for _, name := range names {
		for _, text := range load.parsed[name].Groups {
			group := namedGroup{group: made[rules.GroupKey(name, text.Name)]}
			repeats := map[string]int{}
			for _, rule := range group.group.Rules() {
				base := strings.TrimSuffix(name, ".yaml") + "/" + text.Name + "/" + rule.Name()
				repeats[base]++
				if n := repeats[base]; n > 1 {
					base += fmt.Sprintf("#%d", n)
				}
				group.names = append(group.names, base)
				if alerting, ok := rule.(*rules.AlertingRule); ok {
					alerting.SetRestored(true) // otherwise it does not write ALERTS
				}
			}
			groups = append(groups, group)
		}
	}
	return groups, nil
}

// reload mirrors Manager.Update: equal groups stay, others take over by CopyState (but see
// takeOver), and series of removed groups get stale markers.
func (r *ruleSets) reload(old, fresh []namedGroup, kept []string, rec *recorder, at int64,
	result *groupsAnswer) []namedGroup {
	keeps := map[string]bool{}
	for _, name := range kept {
		keeps[name] = true
	}
	key := func(g namedGroup) string { return rules.GroupKey(g.group.File(), g.group.Name()) }
	before := map[string]namedGroup{}
	for _, g := range old {
		before[key(g)] = g
	}
	for i, g := range fresh {
		was, ok := before[key(g)]
		if !ok {
			continue
		}
		delete(before, key(g))
		if was.group.Equals(g.group) {
			fresh[i].group = was.group
			continue
		}
		g.group.CopyState(was.group)
		result.KeptAtReload += takeOver(g, was, keeps)
	}
	// Prometheus does it two intervals later, with this time.
	for _, g := range before {
		for _, series := range previousSeries(g.group) {
			for _, lset := range series {
				rec.appendStale(lset, at)
			}
		}
	}
	return fresh
}

// takeOver corrects CopyState, which matches by name and labels, to Pitwall's guarantee
// (docs/time-model.md, 7): an unchanged rule takes over from itself; a changed one starts without
// alerts. Recorded series go to unchanged rules first, then as in CopyState. It returns the number
// of alerts that Prometheus would have lost.
func takeOver(now, was namedGroup, keeps map[string]bool) int {
	from := map[string]int{}
	for k, name := range was.names {
		from[name] = k
	}
	id := func(rule rules.Rule) string { return fmt.Sprintf("%T %s %s", rule, rule.Name(), rule.Labels()) }
	before, after := previousSeries(was.group), previousSeries(now.group)
	taken := make([]bool, len(was.names))
	lost := 0
	for k, rule := range now.group.Rules() {
		after[k] = nil
		i, ok := from[now.names[k]]
		kept := ok && keeps[now.names[k]]
		if kept {
			after[k], taken[i] = before[i], true
		}
		alerting, ok := rule.(*rules.AlertingRule)
		if !ok {
			continue
		}
		alerts := map[uint64]*rules.Alert{}
		if kept {
			alerts = *activeOf(was.group.Rules()[i].(*rules.AlertingRule))
			for fingerprint := range alerts {
				if (*activeOf(alerting))[fingerprint] != alerts[fingerprint] {
					lost++
				}
			}
		}
		*activeOf(alerting) = alerts
	}
	for k, rule := range now.group.Rules() {
		for i, old := range was.group.Rules() {
			if !keeps[now.names[k]] && after[k] == nil && !taken[i] && id(old) == id(rule) {
				after[k], taken[i] = before[i], true
				if after[k] == nil {
					after[k] = map[string]labels.Labels{}
				}
			}
		}
	}
	stale := staleSeries(now.group)
	*stale = slices.Clone(*staleSeries(was.group))
	for i := range taken {
		if !taken[i] {
			for _, series := range before[i] {
				*stale = append(*stale, series)
			}
		}
	}
	return lost
}

// eval runs one Group.Eval and collects the results of its rules. A rule over its limit drops its
// alerts; Pitwall ignores such a tick (docs/promql.md), so they are restored.
func (r *ruleSets) eval(g namedGroup, t int64, at *groupTick, result *groupsAnswer) {
	var before []map[uint64]rules.Alert
	limited := g.group.Limit() > 0
	if limited {
		for _, rule := range g.group.Rules() {
			copied := map[uint64]rules.Alert{}
			if alerting, ok := rule.(*rules.AlertingRule); ok {
				for fingerprint, alert := range *activeOf(alerting) {
					copied[fingerprint] = *alert
				}
			}
			before = append(before, copied)
		}
	}
	g.group.Eval(context.Background(), time.UnixMilli(t).UTC())
	for i, rule := range g.group.Rules() {
		err := rule.LastError()
		if errors.Is(err, storage.ErrDuplicateSampleForTimestamp) {
			result.Conflicts++
			err = nil
		}
		if err != nil {
			at.Failed = append(at.Failed, [2]string{g.names[i], err.Error()})
		}
		alerting, ok := rule.(*rules.AlertingRule)
		if !ok {
			continue
		}
		if err != nil {
			if limited && strings.HasPrefix(err.Error(), "exceeded limit") {
				result.KeptOverLimit++
				restored := map[uint64]*rules.Alert{}
				for fingerprint, alert := range before[i] {
					restored[fingerprint] = &alert
				}
				*activeOf(alerting) = restored
			}
			continue
		}
		alerts := [][]any{}
		alerting.ForEachActiveAlert(func(a *rules.Alert) {
			if a.State == rules.StateInactive {
				return
			}
			fired := "0"
			annotations := []string{}
			if a.State == rules.StateFiring {
				fired = fmt.Sprint(a.FiredAt.UnixMilli())
				annotations = flat(a.Annotations)
			}
			alerts = append(alerts, []any{a.State.String(), fmt.Sprint(a.ActiveAt.UnixMilli()), fired, hex(a.Value),
				flat(a.Labels), annotations, !a.KeepFiringSince.IsZero()})
		})
		at.Alerts = append(at.Alerts, [2]any{g.names[i], alerts})
	}
}

func flat(of labels.Labels) []string {
	list := []string{}
	of.Range(func(l labels.Label) { list = append(list, l.Name, l.Value) })
	return list
}

// Accessors for fields of Prometheus' own types that are not exported.
func activeOf(rule *rules.AlertingRule) *map[uint64]*rules.Alert {
	return (*map[uint64]*rules.Alert)(unsafe.Pointer(reflect.ValueOf(rule).Elem().FieldByName("active").UnsafeAddr()))
}

func previousSeries(group *rules.Group) []map[string]labels.Labels {
	field := reflect.ValueOf(group).Elem().FieldByName("seriesInPreviousEval")
	return *(*[]map[string]labels.Labels)(unsafe.Pointer(field.UnsafeAddr()))
}

func staleSeries(group *rules.Group) *[]labels.Labels {
	return (*[]labels.Labels)(unsafe.Pointer(reflect.ValueOf(group).Elem().FieldByName("staleSeries").UnsafeAddr()))
}
