// Properties of a tab's component.
import type { JobDetail } from "../api/types.ts";

export interface TabProps {
  job: JobDetail;
}
