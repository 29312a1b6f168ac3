// Types of the API's responses. build.sh generates openapi.ts from services/history/api/openapi.yaml.
import type { components } from "./openapi.ts";

type Schemas = components["schemas"];

export type Ns = Schemas["Nanoseconds"];
export type NsOrNull = Schemas["NanosecondsOrNull"];
export type Labels = Schemas["Labels"];
export type Topic = Schemas["Topic"];
export type Session = Schemas["Session"];

export type Job = Schemas["Job"];
export type JobPage = Schemas["Jobs"];
export type JobDetail = Schemas["JobDetail"];
export type Attempt = JobDetail["attempts"][number];
export type AttemptSummary = JobDetail["summary"]["attempts"][number];
export type Source = JobDetail["sources"][number];
export type Part = Schemas["JobPart"];
export type PartName = Part["part"];

export type CloudEvent = Schemas["CloudEvent"];
export type EventData = Schemas["EventData"];
export type Evidence = Schemas["Evidence"];
export type Issue = Schemas["Issue"];
export type IssueDetail = Schemas["IssueDetail"];
export type Incident = Schemas["Incidents"]["incidents"][number];
export type Rule = Schemas["Rules"]["rules"][number];
export type RuleDefinition = NonNullable<Rule["definition"]>;

export type ChartByTime = Schemas["ChartByTime"];
export type Chart = Schemas["Chart"];
export type HeatMap = Schemas["HeatMap"];
export type StepHeatMap = Schemas["StepHeatMap"];
export type Spans = Schemas["Spans"]["spans"];
export type StepRows = Schemas["Steps"];
export type Phases = Schemas["Phases"];
export type Operators = Schemas["Operators"];
export type Resources = Schemas["Resources"];
export type SeriesList = Schemas["SeriesList"];
export type Tensors = Schemas["Tensors"];
export type WhatIf = Schemas["WhatIf"];
export type Differs = Schemas["Differs"];
