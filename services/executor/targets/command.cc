#include "services/executor/targets/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "services/base/text/strings.h"

extern char** environ;

namespace pitwall::executor {
namespace {

constexpr int kPollMs = 50;  // maximum delay until a cancellation or an exit is noticed
constexpr int kSignalOffset = 128;

// Pipe that captures the output of a child process.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
  }
  ~Pipe() {
    Close(&ends_[0]);
    Close(&ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool open() const { return ends_[0] >= 0; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void CloseWriter() { Close(&ends_[1]); }
  // Reads the available output. Bytes beyond the limit are discarded, so that the child can
  // continue and exit.
  void Take(std::string* out) {
    char buffer[4096];
    const ssize_t n = read(ends_[0], buffer, sizeof(buffer));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) return Close(&ends_[0]);
    out->append(buffer, std::min(static_cast<size_t>(n), kMaxCommandOutput - out->size()));
  }

 private:
  static void Close(int* fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
  int ends_[2];
};

class PosixCommandRunner final : public CommandRunner {
 public:
  explicit PosixCommandRunner(Clock* clock) : clock_(clock) {}

  StatusOr<CommandResult> Run(const std::vector<std::string>& argv, int64_t timeout_ns) override {
    if (argv.empty()) return InvalidArgument("command: program must not be empty");
    if (cancelled_) return Cancelled("the executor is stopping");
    Pipe out, errors;
    if (!out.open() || !errors.open()) return ErrnoStatus(errno, "pipe");
    ASSIGN_OR_RETURN(const pid_t child, Spawn(argv, out.writer(), errors.writer()));
    out.CloseWriter();
    errors.CloseWriter();
    CommandResult result;
    const int64_t until = clock_->MonotonicNs() + timeout_ns;
    int status = 0;
    for (bool ended = false; !ended;) {
      pollfd fds[2] = {{out.reader(), POLLIN, 0}, {errors.reader(), POLLIN, 0}};
      poll(fds, 2, kPollMs);
      if (fds[0].revents != 0 && out.open()) out.Take(&result.out);
      if (fds[1].revents != 0 && errors.open()) errors.Take(&result.errors);
      ended = waitpid(child, &status, WNOHANG) == child;
      if (ended) break;
      const bool late = clock_->MonotonicNs() >= until;
      if (!late && !cancelled_) continue;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      if (cancelled_) return Cancelled("the executor is stopping");
      return absl::DeadlineExceededError(
          ToAbsl(Cat(argv[0], " did not finish within ", timeout_ns / kNanosPerMilli, " ms")));
    }
    // Reads the remaining output. A grandchild may keep the pipe open, so this function does not
    // wait for end of file.
    for (Pipe* pipe : {&out, &errors}) {
      std::string* text = pipe == &out ? &result.out : &result.errors;
      pollfd fd = {pipe->reader(), POLLIN, 0};
      while (pipe->open() && text->size() < kMaxCommandOutput && poll(&fd, 1, 0) > 0)
        pipe->Take(text);
    }
    result.exit_code = WIFSIGNALED(status) ? kSignalOffset + WTERMSIG(status) : WEXITSTATUS(status);
    return result;
  }

  void Cancel() override { cancelled_ = true; }

 private:
  static StatusOr<pid_t> Spawn(const std::vector<std::string>& argv, int out, int errors) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    // Reset the signals that the service blocks or ignores.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> arguments;
    for (const std::string& argument : argv)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_t child = -1;
    const int error =
        posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error == ENOENT) return NotFound(Cat("program ", Quote(argv[0]), " not found"));
    if (error != 0) return ErrnoStatus(error, Cat("cannot start ", argv[0]));
    return child;
  }

  Clock* const clock_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace

std::unique_ptr<CommandRunner> MakeCommandRunner(Clock* clock) {
  return std::make_unique<PosixCommandRunner>(clock);
}

}  // namespace pitwall::executor
