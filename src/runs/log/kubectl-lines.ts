/** Reads the lines of a log that kubectl may have changed. */
export interface KubectlLines {
  /** Returns a line without the time that `kubectl logs --timestamps` has written before it. */
  readonly strip: (line: string) => string
  /**
   * Returns what kubectl did to the log, and the right command, for a text in which no log was
   * found; undefined if the lines do not show it.
   */
  readonly problem: () => string | undefined
}

/**
 * The time that the kubelet writes before each line: RFC 3339 with nanoseconds, and a blank
 * (kubernetes staging/src/k8s.io/cri-client/pkg/logs/logs.go). No line of an observer begins so.
 */
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) /

/** The prefix of `kubectl logs --prefix` (kubectl pkg/cmd/logs/logs.go, addPrefixIfNeeded). */
const PREFIX = /^\[pod\/([-a-z0-9.]+)\/([-a-z0-9]+)\] /

/** The beginning of a row in JSON Lines. */
const ROW = /^\{"time":"\d{4}-/

/** Starts to read the lines of a text, which is the log of an observer or another text. */
export function readKubectlLines(): KubectlLines {
  let isFirst = true
  let isStamped = false
  let prefix: RegExpExecArray | null = null
  let hasRows = false
  const strip = (line: string) => {
    if (isFirst) {
      isFirst = false
      isStamped = STAMP.test(line)
      prefix = PREFIX.exec(line)
    }
    const text = isStamped ? line.replace(STAMP, '') : line
    hasRows ||= ROW.test(text)
    return text
  }
  const problem = () => {
    if (prefix !== null) return describePrefix(prefix[1] ?? '', prefix[2] ?? '')
    return hasRows ? HEADLESS : undefined
  }
  return { strip, problem }
}

function describePrefix(pod: string, container: string): string {
  return (
    'its lines have the prefix of kubectl logs --prefix; write the log of each observer to a ' +
    `file of its own, without --prefix: kubectl logs ${pod} -c ${container}`
  )
}

const HEADLESS =
  'it has rows of an observer, but not the line METADATA START before them, which names the ' +
  'metric; use kubectl logs POD -c OBSERVER without --tail and --since, or ridealong collect'
