import { nameFirst } from '../../../core/text/name-first.ts'
import type { TextBlock } from '../../../lib/output-format.ts'
import { rounded } from '../../../lib/round.ts'
import type { AttemptGroup } from '../../attempts/attempt-groups.ts'
import { phaseText } from '../../attempts/attempts-text.ts'
import { limitText } from '../../efficiency/factor.ts'
import { describeEnd } from '../../findings/signals.ts'
import type { EndedContainer } from '../../log/entry.ts'
import type { MetricReport, PagePart, PartRow } from '../../metrics/page-part.ts'
import { bytesText } from '../../rules/sentence.ts'
import type { CollectedTime } from '../../time/collected-time.ts'
import type { ReportedAttempt, ReportedAttempts } from './reported-attempts.ts'

const LOST =
  'no log was read: the kubelet keeps only the log of the attempt before the last one, and none ' +
  'if the pod was deleted or all of its containers were started again'

/** Formats the attempts of a run for a terminal; empty if no container was started again. */
export function attemptBlocks({ known, lost }: ReportedAttempts): readonly TextBlock[] {
  if (known.length === 0) return []
  const rows = [
    ...lost.map((span) => [span[0], spanText(span), LOST] as const),
    ...known.map((one) => [one.attempt, `${one.attempt}`, describeAttempt(one)] as const),
  ].toSorted(([a], [b]) => a - b)
  const heading: TextBlock = {
    text: 'Numbers of the attempts, which are not added up:',
    tone: 'heading',
  }
  return ['', heading, { rows: rows.map(([, ...cells]) => cells), indent: 2 }]
}

function spanText([first, last]: readonly [number, number]): string {
  return first === last ? `${first}` : `${first} to ${last}`
}

function describeAttempt({ isCounted, ended, mpi, efficiency }: ReportedAttempt): string {
  const numbers = [
    ...(mpi === null
      ? []
      : [`${mpi.ranks} MPI ranks`, `${mpi.calls} calls`, `${bytesText(mpi.bytes)} sent`]),
    ...(efficiency.value === null ? [] : [`efficiency ${limitText(efficiency)}`]),
  ]
  const about = isCounted ? 'the numbers of this report are of this attempt' : ''
  const end = isCounted && ended.length === 0 ? '' : endText(ended)
  return [end, numbers.join(', '), about].filter((part) => part !== '').join('; ')
}

/** Returns how containers ended, with the number of those with the same end, and the last time. */
function endText(ended: readonly EndedContainer[]): string {
  if (ended.length === 0) return 'its end is not known'
  const ends = [...Map.groupBy(ended, (one) => describeEnd(one))].map(([end, { length }]) => {
    return ended.length === 1 ? end : `${end} of ${length} ${length === 1 ? 'pod' : 'pods'}`
  })
  const last = lastTime(ended)
  return `${nameFirst(ends)}${last === null ? '' : ` at ${last}`}`
}

function lastTime(ended: readonly EndedContainer[]): string | null {
  return (
    ended
      .flatMap(({ finishedAt }) => finishedAt ?? [])
      .toSorted()
      .at(-1) ?? null
  )
}

/** Returns the parts of the page and the JSON about attempts; none if nothing was started again. */
export function attemptsReports(
  attempts: ReportedAttempts,
  time: CollectedTime | null,
): readonly MetricReport[] {
  return [...statusReport(time?.attempts ?? []), ...numbersReport(attempts)]
}

/** Returns a table of the attempts in the status of pods. Its JSON is that of the time. */
function statusReport(attempts: readonly AttemptGroup[]): readonly MetricReport[] {
  if (attempts.length === 0) return []
  const part: PagePart = {
    id: 'attempts',
    title: 'Attempts',
    facts: 'as the status of the pods has them',
    note: ['The status has the last two starts of a container, and of no pod that was deleted.'],
    columns: [
      { title: 'Attempt' },
      { title: 'Number' },
      { title: 'Container' },
      { title: 'End' },
      { title: 'Time', unit: 's' },
    ],
    rows: attempts.map((group) => {
      const { attempt, podIndex, container, count, seconds } = group
      return { pod: podIndex ?? '', cells: [attempt, count, container, phaseText(group), seconds] }
    }),
    left: '',
  }
  return [{ part, document: {} }]
}

function numbersReport(attempts: ReportedAttempts): readonly MetricReport[] {
  const { known, lost } = attempts
  if (known.length === 0) return []
  const counted = known.find(({ isCounted }) => isCounted)?.attempt ?? null
  const gone = lost.map((span) => `Attempt ${spanText(span)}: ${LOST}.`)
  const report = {
    part: {
      id: 'attempt-numbers',
      title: 'Numbers of the attempts',
      facts: `the report is about attempt ${counted}`,
      note: [
        'The program began again with each attempt, so attempts are not added up. The numbers of ' +
          'an attempt that was killed are those of its last rows.',
      ],
      columns: [
        { title: 'Attempt' },
        { title: 'End' },
        { title: 'MPI ranks' },
        { title: 'Calls' },
        { title: 'Sent', unit: 'bytes' },
        { title: 'Efficiency' },
      ],
      rows: known.map(rowOf),
      left: gone.join(' '),
    },
    document: { attempts: attemptsDocument(attempts) },
  }
  return [report]
}

function rowOf({ attempt, pods, ended, mpi, efficiency }: ReportedAttempt): PartRow {
  const { ranks = null, calls = null, bytes = null } = mpi ?? {}
  const value = efficiency.value === null ? null : limitText(efficiency)
  return { pod: nameFirst(pods), cells: [attempt, endText(ended), ranks, calls, bytes, value] }
}

function attemptsDocument({ known, lost }: ReportedAttempts) {
  const found = known.map(({ efficiency, mpi, pods, ...attempt }) => ({
    ...attempt,
    podIndexes: pods,
    mpi,
    efficiency: rounded(efficiency.value),
    missing: efficiency.missing,
  }))
  return { known: found, lost: lost.map(([first, last]) => ({ first, last, reason: LOST })) }
}
