import type { RunFinding } from '../findings/evaluate.ts'
import { type CheckedRule, RULES } from '../findings/rules.ts'
import type { RecordedJob } from '../jobs/recorded-job.ts'
import type { Descriptions } from '../log/descriptions.ts'
import { assessRun } from '../report/assess.ts'
import { type CollectedRun, newRun } from '../report/gather.ts'
import { lossNotices } from '../report/notices.ts'
import type { RunTime } from '../report/programs/run-time.ts'
import type { FindingRule } from '../rules/rule.ts'
import { measureEfficiency } from './efficiency-quantities.ts'
import {
  columnsToRead,
  findMainProgram,
  measureProcesses,
  readPrograms,
} from './process-quantities.ts'
import {
  type ComparedRun,
  type FindingFacts,
  knownQuantity,
  MPI_ELAPSED,
  type QuantityFacts,
  TIME,
} from './run-facts.ts'
import { measureSections } from './section-quantities.ts'
import { measureCalls, measureFunctions, measureMpi } from './tool-quantities.ts'

/** Returns a run without rows, which keeps the columns that a comparison needs. */
export function newComparedRun(descriptions: Descriptions): CollectedRun {
  return newRun(descriptions, columnsToRead(descriptions))
}

/** Measures everything that a comparison needs to know about a run. @param name its files */
export function measureRun(collected: CollectedRun, name: string): ComparedRun {
  const assessed = assessRun(collected)
  const { run, podOf, pods, logs, whole, found, efficiency, jobs, completion, times } = assessed
  const programs = readPrograms(whole, logs)
  const quantities = [
    timeFacts(times.time),
    ...measureProcesses(programs),
    ...measureSections(run, logs),
    ...measureMpi(jobs),
    ...measureEfficiency(efficiency),
  ]
  return {
    name,
    ...sizeOf(jobs, pods),
    programs: namePrograms(jobs, findMainProgram(programs)),
    completion,
    quantities: completion.state === 'unfinished' ? quantities.map(withoutTime) : quantities,
    calls: measureCalls(jobs),
    functions: measureFunctions(run.evidence.profiles, podOf),
    findings: found.findings.map(findingFacts),
    unchecked: [
      ...found.notChecked.flatMap(({ rule, reason, pods: own }) =>
        own === null ? [{ rule, reason }] : [],
      ),
      ...listLeftOut(new Set([...logs.values()].map(({ metric }) => metric))),
    ],
    notices: lossNotices(run),
  }
}

const TIME_NAME = { quantity: TIME, of: 'run', title: 'time', unit: 's' } as const

/** Returns the time of a run as a quantity. */
function timeFacts(time: RunTime | null): QuantityFacts {
  const missing = 'no log that lasts until the end has two samples with a time'
  if (time === null)
    return { ...TIME_NAME, value: null, missing, resolution: 0, metrics: [], byPart: {} }
  const { seconds, resolution, metric } = time
  return { ...knownQuantity({ ...TIME_NAME, metrics: [metric] }, seconds), resolution }
}

/** Returns the optional rules whose metric was not collected. Few of them are in a report. */
function listLeftOut(metrics: ReadonlySet<string>): ComparedRun['unchecked'] {
  return RULES.flatMap((rule: CheckedRule & Pick<FindingRule, 'isOptional'>) => {
    const needed = [...new Set(rule.needs.flat().map(({ metric }) => metric))]
    const isLeftOut = rule.isOptional === true && !needed.some((metric) => metrics.has(metric))
    if (!isLeftOut) return []
    return [{ rule: rule.name, reason: `metric ${needed.join(' or ')} was not collected` }]
  })
}

/** Returns a quantity of a run that did not finish, which has no time. */
function withoutTime(facts: QuantityFacts): QuantityFacts {
  if (facts.quantity !== TIME && facts.quantity !== MPI_ELAPSED) return facts
  return { ...facts, value: null, missing: 'the run did not finish', byPart: {} }
}

function namePrograms(jobs: readonly RecordedJob[], main: string | undefined): readonly string[] {
  const ofJobs = jobs.flatMap(({ processes }) => processes.flatMap(({ program }) => program ?? []))
  return ofJobs.length > 0 ? [...new Set(ofJobs)].sort() : [main ?? []].flat()
}

/** Returns the number of MPI ranks, or of pods if no calls of MPI were recorded. */
function sizeOf(
  jobs: readonly RecordedJob[],
  pods: readonly string[],
): Pick<ComparedRun, 'size' | 'sizeUnit'> {
  if (jobs.length === 0) return { size: pods.length, sizeUnit: 'pods' }
  const size = jobs.reduce((sum, job) => sum + job.size, 0)
  return { size, sizeUnit: 'MPI ranks' }
}

function findingFacts(finding: RunFinding): FindingFacts {
  const { rule, title, severity, sentence, lost, pods } = finding
  return {
    rule,
    title,
    severity,
    sentence,
    secondsLost: lost,
    pods: pods.map(({ pod }) => pod),
  }
}
