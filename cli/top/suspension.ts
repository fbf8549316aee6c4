/** The functions that a suspension calls. */
export interface SuspendedScreen {
  /** Restores the terminal for the shell. */
  readonly leave: () => void
  /** Takes the terminal again, whose settings the shell may have changed. */
  readonly enter: () => void
}

/** If the process still runs after this many milliseconds, the kernel does not stop it. */
const UNSTOPPED_MS = 100

/**
 * Restores the terminal before SIGTSTP stops the process, and takes it again after SIGCONT. The
 * kernel does not stop a process that no shell could continue (POSIX: an orphaned process group);
 * then the terminal is taken again a moment later.
 *
 * @returns a function that removes the signal handlers
 */
export function handleSuspension({ leave, enter }: SuspendedScreen): () => void {
  let isSuspended = false
  let timer: NodeJS.Timeout | undefined
  const suspend = () => {
    leave()
    isSuspended = true
    // Without a listener, the signal stops the process.
    process.off('SIGTSTP', suspend)
    process.kill(process.pid, 'SIGTSTP')
    timer = setTimeout(() => setImmediate(resumeOnce), UNSTOPPED_MS)
  }
  const resume = () => {
    clearTimeout(timer)
    if (isSuspended) process.on('SIGTSTP', suspend)
    isSuspended = false
    enter()
  }
  const resumeOnce = () => {
    if (isSuspended) resume()
  }
  process.on('SIGTSTP', suspend)
  process.on('SIGCONT', resume)
  return () => {
    isSuspended = false
    clearTimeout(timer)
    process.off('SIGTSTP', suspend)
    process.off('SIGCONT', resume)
  }
}

/** Suspends all processes of the process group, as Ctrl-Z does outside of raw mode. */
export function suspend(): void {
  if (process.platform !== 'win32') process.kill(0, 'SIGTSTP')
}
