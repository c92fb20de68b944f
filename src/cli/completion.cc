#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"

namespace octet::cli {

namespace {

// The commands with their flags, which is all that a completion script has to know.
std::vector<Args> declared_commands() {
  std::vector<Args> result;
  for (const Command& command : commands()) {
    Args& args = result.emplace_back(std::string(command.name), std::string(command.summary));
    command.declare(args);
  }
  return result;
}

// Inside single quotes; bash, zsh and fish all end the string, add an escaped quote and go on.
std::string quote(std::string_view text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string bash_script() {
  std::string names, cases;
  for (const Args& args : declared_commands()) {
    names += " " + args.command();
    std::string flags = "--help", values;
    for (const Flag& flag : args.flags()) {
      if (flag.positional) {
        if (!flag.choices().empty()) flags = fmt::format("{} {}", fmt::join(flag.choices(), " "), flags);
        continue;
      }
      flags += " --" + flag.name;
      std::string words = fmt::format("{}", fmt::join(flag.choices(), " "));
      if (flag.boolean)  // its value may be left out, so anything may follow
        values += fmt::format("        --{}) words=\"{} $words\" ;;\n", flag.name, words);
      else
        values += fmt::format("        --{}) words='{}'; files={} ;;\n", flag.name, words,
                              flag.takes_file() ? "yes" : "no");
    }
    cases += fmt::format("    {})\n      words='{}'\n      case \"${{previous//_/-}}\" in\n{}      esac ;;\n",
                         args.command(), flags, values);
  }
  return fmt::format(R"(# bash completion for octet
_octet() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words='' files=yes
  if [[ $current == '=' ]]; then current=''; fi
  if [[ $previous == '=' ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W '{0} help --help --version' -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
    help) words='{0}'; files=no ;;
{1}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ $files == yes && ${{#COMPREPLY[@]}} -eq 0 ]]; then
    compopt -o filenames
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -F _octet octet
)",
                     names.substr(1), cases);
}

std::string zsh_script() {
  // In an _arguments specification brackets and colons are special.
  auto escape = [](const std::string& text) {
    std::string result;
    for (char c : text) {
      if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  };
  std::string list, cases;
  for (const Args& args : declared_commands()) {
    list += "    " + quote(args.command() + ":" + escape(args.summary())) + "\n";
    cases += "    " + args.command() + ")\n      _arguments '--help[show the flags]'";
    for (const Flag& flag : args.flags()) {
      std::string action;
      if (!flag.choices().empty())
        action = fmt::format("({})", fmt::join(flag.choices(), " "));
      else if (flag.takes_file())
        action = "_files";
      std::string spec = flag.positional ? "1" : fmt::format("*--{}=[{}]", flag.name, escape(flag.help));
      spec += flag.boolean ? "::" : ":";  // a boolean's value may be left out
      cases += " \\\n        " + quote(spec + escape(flag.value) + ":" + action);
    }
    cases += " ;;\n";
  }
  return fmt::format(R"(#compdef octet
# zsh completion for octet
_octet() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
    help) _describe 'command' commands ;;
{}  esac
}}
if [[ $funcstack[1] == _octet ]]; then _octet "$@"; else compdef _octet octet; fi
)",
                     list, cases);
}

std::string fish_script() {
  std::string out =
      "# fish completion for octet\n"
      "complete -c octet -f\n"
      "complete -c octet -n __fish_use_subcommand -l help -d 'list the commands'\n"
      "complete -c octet -n __fish_use_subcommand -l version -d 'print the version'\n";
  for (const Args& args : declared_commands()) {
    out += fmt::format("complete -c octet -n __fish_use_subcommand -a {} -d {}\n", args.command(),
                       quote(args.summary()));
    std::string when = quote("__fish_seen_subcommand_from " + args.command());
    out += fmt::format("complete -c octet -n {} -l help -d 'show the flags'\n", when);
    for (const Flag& flag : args.flags()) {
      std::string words =
          flag.choices().empty() ? "" : fmt::format(" -a '{}'", fmt::join(flag.choices(), " "));
      std::string files = flag.takes_file() ? " -F" : "";
      if (flag.positional)
        out += fmt::format("complete -c octet -n {}{}{} -d {}\n", when, files, words, quote(flag.help));
      else
        out += fmt::format("complete -c octet -n {} -l {}{}{}{} -d {}\n", when, flag.name,
                           flag.boolean ? "" : " -r", files, words, quote(flag.help));
    }
  }
  return out;
}

}  // namespace

std::function<int()> declare_completion(Args& args) {
  auto shell = std::make_shared<std::string>();
  args.add_positional("SHELL", shell.get(), "bash|zsh|fish", "bash, zsh or fish").required = true;
  args.example("octet completion bash > ~/.local/share/bash-completion/completions/octet");
  args.example("octet completion zsh > \"${fpath[1]}/_octet\"");
  args.example("octet completion fish > ~/.config/fish/completions/octet.fish");
  return [shell] {
    write_output(*shell == "bash" ? bash_script() : *shell == "zsh" ? zsh_script() : fish_script());
    return 0;
  };
}

}  // namespace octet::cli
