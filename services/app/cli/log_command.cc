// Commands `pitwall log check|repair DIR`: find and repair corruption in a data directory.
#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/repair/log_repair.h"
#include "services/adapters/files/file.h"
#include "services/app/cli/commands.h"
#include "services/app/command/flags.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"
#include "services/processor/derived_outputs.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

std::string Offsets(const log::DamageReport& report) {
  if (report.from_offset < 0) return "";
  return Cat(report.from_offset, " to ", report.to_offset - 1);
}

void AddReports(const log::LogCheck& check, codec::JsonWriter* out) {
  out->Key("files");
  out->Uint(static_cast<uint64_t>(check.files));
  out->Key("bytes");
  out->Uint(static_cast<uint64_t>(check.bytes));
  out->Key("startable");
  out->Bool(check.startable());
  out->Key("damage");
  out->BeginArray();
  for (const log::DamageReport& report : check.reports) {
    out->BeginObject();
    out->Key("kind");
    out->String(log::DamageKindName(report.kind));
    out->Key("place");
    out->String(report.place);
    out->Key("cause");
    out->String(report.message);
    out->Key("heals_itself");
    out->Bool(report.healed);
    if (!report.topic.empty()) out->Text("topic", report.topic);
    if (report.partition >= 0) {
      out->Key("partition");
      out->Uint(static_cast<uint64_t>(report.partition));
    }
    if (report.from_offset >= 0) {
      out->Key("from_offset");
      out->Uint(static_cast<uint64_t>(report.from_offset));
      out->Key("to_offset");
      out->Uint(static_cast<uint64_t>(report.to_offset));
    }
    out->Key("remedy");
    out->String(log::RemedyOf(report));
    out->EndObject();
  }
  out->EndArray();
}

void PrintReports(const log::LogCheck& check) {
  for (const log::DamageReport& report : check.reports) {
    Print(TerminalLine(Cat(report.place, ": ", report.message)) + "\n");
    if (!report.topic.empty() && report.partition >= 0) {
      const std::string offsets = Offsets(report);
      Print(TerminalLine(Cat("  ", log::DamageKindName(report.kind), ", topic ", report.topic,
                             ", partition ", report.partition, offsets.empty() ? "" : ", offsets ",
                             offsets)) +
            "\n");
    }
    Print(TerminalLine(Cat("  ", log::RemedyOf(report))) + "\n");
  }
}

std::string Remedy(const log::LogCheck& check, const std::string& dir) {
  if (check.reports.empty()) return "";
  if (check.startable()) return "; the next start repairs them";
  return Cat("; run `pitwall log repair ", dir, "`");
}

int Check(const std::string& dir, bool json) {
  const auto check = log::CheckLog(dir);
  if (!check.ok()) {
    PrintError(TerminalLine(Cat("pitwall log check: ", ToStd(check.status().message()))) + "\n");
    return kUsage;
  }
  if (json) {
    codec::JsonWriter out;
    out.BeginObject();
    AddReports(*check, &out);
    out.EndObject();
    PrintJson(out.Take() + "\n");
  } else {
    PrintReports(*check);
    Print(TerminalLine(Cat(dir, ": ", check->files, " files, ",
                           FormatBytes(static_cast<double>(check->bytes)), ", ",
                           check->reports.size(), " findings", Remedy(*check, dir))) +
          "\n");
  }
  return check->startable() ? kFine : kCheckFailed;
}

void PrintRepairJson(const log::LogRepair& repair, bool dry_run) {
  codec::JsonWriter out;
  out.BeginObject();
  out.Key("dry_run");
  out.Bool(dry_run);
  AddReports(repair.before, &out);
  for (const auto& [name, lines] :
       {std::pair("done", &repair.done), std::pair("quarantine", &repair.quarantine)}) {
    out.Key(name);
    out.BeginArray();
    for (const std::string& line : *lines) out.String(line);
    out.EndArray();
  }
  out.EndObject();
  PrintJson(out.Take() + "\n");
}

int Repair(const std::string& dir, bool dry_run, bool json) {
  clock::SystemClock clock;
  const auto repair = log::RepairLog(dir, dry_run, &clock, {processor::OutputsOfTelemetry()});
  if (!repair.ok()) {
    PrintError(TerminalLine(Cat("pitwall log repair: ", ToStd(repair.status().message()))) + "\n");
    return kUsage;
  }
  if (json) {
    PrintRepairJson(*repair, dry_run);
  } else {
    PrintReports(repair->before);
    for (const std::string& line : repair->done) Print(TerminalLine(line) + "\n");
    for (const std::string& path : repair->quarantine)
      Print(TerminalLine(Cat("kept: ", path)) + "\n");
    Print(TerminalLine(Cat(dir, ": ",
                           repair->before.startable() ? "nothing to repair"
                           : dry_run                  ? "nothing was changed (--dry-run)"
                                                      : "repaired; the log can be started")) +
          "\n");
  }
  // With --dry-run, the exit code is the same as for `log check`.
  return dry_run && !repair->before.startable() ? kCheckFailed : kFine;
}

// Returns the log directory. The argument is either a data directory or the log directory itself.
std::string LogDirOf(const Flags& flags) {
  std::string dir = flags.positional()[0];
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
  return files::Exists(dir + "/log") ? dir + "/log" : dir;
}

}  // namespace

std::vector<Command> LogCommands() {
  const FlagSpec json = {"json", Kind::kSwitch, "", "print one JSON object"};
  return {
      Command{.name = "log check",
              .summary = "Check every byte of a log for damage without changing it",
              .usage = {"DIR [options]"},
              .details = "DIR is a data directory (standalone --data-dir) or the log in it.\n"
                         "Exit codes: 0 no damage, 1 damage, 2 usage or unreadable.\n",
              .min_arguments = 1,
              .max_arguments = 1,
              .options = {json},
              .examples = {"pitwall log check /var/lib/pitwall"},
              .run = [](const Flags& flags) { return Check(LogDirOf(flags), flags.Has("json")); }},
      Command{
          .name = "log repair",
          .summary = "Repair a damaged log and move dropped data to DIR/quarantine",
          .usage = {"DIR [options]"},
          .details = "DIR is a data directory (standalone --data-dir) or the log in it. Readable "
                     "records are kept. Lost\noffsets are recorded, so reading them returns an "
                     "error. Fails while a process has the log open.\n"
                     "Exit codes: 0 repaired or no damage, 1 damage (with --dry-run), 2 usage or "
                     "unreadable.\n",
          .min_arguments = 1,
          .max_arguments = 1,
          .options = {{"dry-run", Kind::kSwitch, "", "print the repair without changing anything"},
                      json},
          .examples = {"pitwall log repair /var/lib/pitwall --dry-run",
                       "pitwall log repair /var/lib/pitwall"},
          .run = [](const Flags& flags) {
            return Repair(LogDirOf(flags), flags.Has("dry-run"), flags.Has("json"));
          }}};
}

}  // namespace pitwall
