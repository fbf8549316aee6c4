import type { ColumnReading } from '../../evidence/column-reading.ts'
import { type Evidence, Readings, type Thing } from '../../evidence/evidence.ts'
import type { GroupedEvidence } from '../../evidence/run-evidence.ts'
import { Series } from '../../evidence/series.ts'

/**
 * Joins the things of consecutive parts of a log, each of which continues the one before.
 *
 * @param parts the parts, the earliest first
 * @param began when the first part began, in seconds since the first timepoint of the log; the
 * times of the result are seconds since then
 */
export function joinParts(
  parts: readonly Pick<Evidence, 'sections'>[],
  began: number,
): GroupedEvidence['sections'] {
  const sections = new Map<string, { metric: string; things: Map<string, Thing> }>()
  for (const { sections: own } of parts)
    for (const [key, { metric, things }] of own) {
      const joined = sections.get(key)?.things ?? new Map<string, Thing>()
      sections.set(key, { metric, things: joined })
      for (const [id, thing] of things) joined.set(id, join(joined.get(id), thing, began))
    }
  return [...sections]
}

/** @param earlier the same thing in earlier parts; its times are already those of the result */
function join(earlier: Thing | undefined, thing: Thing, began: number): Thing {
  const values = thing.values.map((reading, index) => {
    return joinReadings(earlier?.values[index], reading, began)
  })
  const { columns, from, firstSeen } = thing
  return {
    ...thing,
    from: earlier?.from ?? from - began,
    firstSeen: earlier?.firstSeen ?? firstSeen - began,
    to: thing.to - began,
    rows: thing.rows + (earlier?.rows ?? 0),
    isAmbiguous: thing.isAmbiguous || earlier?.isAmbiguous === true,
    startedAt: earlier === undefined ? thing.startedAt : earlier.startedAt,
    readings: new Readings(columns, values),
    values,
  }
}

function joinReadings(
  earlier: ColumnReading | undefined,
  later: ColumnReading,
  began: number,
): ColumnReading {
  const series = later.series && joinSeries(earlier?.series, later.series, began)
  if (earlier === undefined) return { ...later, at: later.at - began, series }
  return {
    isCounter: later.isCounter,
    first: earlier.first ?? later.first,
    last: later.last ?? earlier.last,
    most: joined(earlier.most, later.most, Math.max),
    growth: joined(earlier.growth, later.growth, add),
    early: earlier.early + later.early,
    seconds: earlier.seconds + later.seconds,
    at: later.at - began,
    sum: earlier.sum + later.sum,
    total: earlier.total + later.total,
    covered: earlier.covered + later.covered,
    busy: earlier.busy + later.busy,
    capped: earlier.capped + later.capped,
    text: later.text ?? earlier.text,
    series,
  }
}

const add = (a: number, b: number) => a + b

function joined(
  a: number | null,
  b: number | null,
  join: (a: number, b: number) => number,
): number | null {
  return a === null || b === null ? (a ?? b) : join(a, b)
}

function joinSeries(earlier: Series | undefined, later: Series, began: number): Series {
  const series = new Series()
  for (const point of earlier?.points ?? []) series.add(point)
  for (const { seconds, value } of later.points) series.add({ seconds: seconds - began, value })
  return series
}
