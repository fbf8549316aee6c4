# A program's name: the base name of argv[0], or of the script where argv[0] is an interpreter.

function is_interpreter(name) {
  return name ~ /^((ba|da|z|k|mk|c|tc|fi)?sh|(python|pypy|perl|ruby|lua|luajit|tclsh|node|php|julia|Rscript|R)[0-9.]*|nodejs)$/
}

# Options of an interpreter whose value is the next word.
function takes_value(name, option) {
  if (name ~ /^(python|pypy)/) return option ~ /^(-[WX]|--check-hash-based-pycs)$/
  if (name ~ /sh$/) return option ~ /^([-+][oO]|--rcfile|--init-file)$/
  if (name ~ /^node/) return option ~ /^(-r|--require|--import|--loader|-C|--conditions)$/
  return name ~ /^(perl|ruby|php|tclsh|julia)/ && option ~ /^(-[IrdL]|--project|--encoding|-encoding)$/
}

function base_name(path) {
  sub(/\/+$/, "", path)
  sub(/^.*\//, "", path)
  return path
}

# The program of a process; its kernel name where its command line is gone, as that of a zombie is.
function program_of(pid, comm,    path, word, argv, n, name) {
  path = "/proc/" pid "/cmdline"
  while (n < 32 && (getline word < path) > 0) argv[++n] = word
  close(path)
  if (n == 0) return comm
  name = base_name(argv[1])
  sub(/^-/, "", name)
  if (name == "") return comm
  return is_interpreter(name) ? script_of(name, argv, n) : name
}

# The script that an interpreter runs, a module of Python's included; the interpreter where there is none.
function script_of(name, argv, n,    i, word) {
  for (i = 2; i <= n; i++) {
    word = argv[i]
    if (word ~ /^--file=./ && name ~ /^R/) return base_name(substr(word, 8))
    if (word == "-m" && name ~ /^(python|pypy)/) return i < n ? argv[i + 1] : name
    if (word == "-" || word ~ /^-[a-z]*[ce]$/ || word ~ /^--(eval|print)/) return name
    if (takes_value(name, word)) i++
    else if (word !~ /^[-+]./) return base_name(word) == "" ? name : base_name(word)
  }
  return name
}
