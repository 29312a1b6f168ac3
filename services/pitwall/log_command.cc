// `pitwall log check|repair DIR`: what is damaged in a data directory, and the way out.
#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/repair/log_repair.h"
#include "services/adapters/files/file.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/json_writer.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/processor/derived_outputs.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

constexpr char kUsageText[] = R"(pitwall log check DIR [--json]
pitwall log repair DIR [--dry-run] [--json]

DIR is a data directory (standalone --data-dir), or the log in it. check reads every byte of the log and changes nothing.
repair makes a log startable again: what can be read stays, what it drops goes to DIR/quarantine, and offsets that are
lost are noted, so that their readers are told. It refuses while a process has the log open.

Exit codes: 0 no damage (repair: or mended), 1 damage, 2 usage or unreadable.

)";

const std::vector<FlagSpec>& LogFlags() {
  static const std::vector<FlagSpec> specs = {
      {"json", Kind::kSwitch, "", "one JSON object on stdout"},
      {"dry-run", Kind::kSwitch, "", "repair: say what would be done, and do nothing"},
      {"help", Kind::kSwitch, "", "this text"},
  };
  return specs;
}

std::string Offsets(const log::DamageReport& report) {
  if (report.from_offset < 0) return "";
  return Cat(report.from_offset, " to ", report.to_offset - 1);
}

void AddReports(const log::LogCheck& check, cloudevents::JsonWriter* out) {
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

int Check(const std::string& dir, bool json) {
  const auto check = log::CheckLog(dir);
  if (!check.ok()) {
    PrintError(TerminalLine(Cat("pitwall log check: ", ToStd(check.status().message()))) + "\n");
    return kUsage;
  }
  if (json) {
    cloudevents::JsonWriter out;
    out.BeginObject();
    AddReports(*check, &out);
    out.EndObject();
    PrintJson(out.Take() + "\n");
  } else {
    PrintReports(*check);
    Print(TerminalLine(Cat(
              dir, ": ", check->files, " files, ", FormatBytes(static_cast<double>(check->bytes)),
              ", ", check->reports.size(), " findings",
              check->reports.empty() ? ""
              : check->startable()   ? "; a start makes them good by itself"
                                     : Cat("; `pitwall log repair ", dir, "` is the way out"))) +
          "\n");
  }
  return check->startable() ? kFine : kCheckFailed;
}

int Repair(const std::string& dir, bool dry_run, bool json) {
  clock::SystemClock clock;
  const auto repair = log::RepairLog(dir, dry_run, &clock, {processor::OutputsOfTelemetry()});
  if (!repair.ok()) {
    PrintError(TerminalLine(Cat("pitwall log repair: ", ToStd(repair.status().message()))) + "\n");
    return kUsage;
  }
  if (json) {
    cloudevents::JsonWriter out;
    out.BeginObject();
    out.Key("dry_run");
    out.Bool(dry_run);
    AddReports(repair->before, &out);
    for (const auto& [name, lines] :
         {std::pair("done", &repair->done), std::pair("quarantine", &repair->quarantine)}) {
      out.Key(name);
      out.BeginArray();
      for (const std::string& line : *lines) out.String(line);
      out.EndArray();
    }
    out.EndObject();
    PrintJson(out.Take() + "\n");
  } else {
    PrintReports(repair->before);
    for (const std::string& line : repair->done) Print(TerminalLine(line) + "\n");
    for (const std::string& path : repair->quarantine)
      Print(TerminalLine(Cat("kept: ", path)) + "\n");
    Print(TerminalLine(Cat(dir, ": ",
                           repair->before.startable() ? "nothing to repair"
                           : dry_run                  ? "nothing was changed (--dry-run)"
                                                      : "repaired; it can be started")) +
          "\n");
  }
  // --dry-run: as check says.
  return dry_run && !repair->before.startable() ? kCheckFailed : kFine;
}

}  // namespace

int RunLog(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(LogFlags(), arguments);
  if (!flags.ok()) {
    PrintError(TerminalLine(Cat("pitwall log: ", ToStd(flags.status().message()))) + "\n");
    return kUsage;
  }
  const std::vector<std::string>& words = flags->positional();
  const bool known = words.size() == 2 && (words[0] == "check" || words[0] == "repair");
  if (flags->Has("help") || !known || (words[0] == "check" && flags->Has("dry-run"))) {
    const std::string text = Cat(kUsageText, FlagHelp(LogFlags()));
    flags->Has("help") ? Print(text) : PrintError(text);
    return flags->Has("help") ? kFine : kUsage;
  }
  std::string dir = words[1];
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
  if (files::Exists(dir + "/log")) dir += "/log";
  return words[0] == "check" ? Check(dir, flags->Has("json"))
                             : Repair(dir, flags->Has("dry-run"), flags->Has("json"));
}

}  // namespace pitwall
