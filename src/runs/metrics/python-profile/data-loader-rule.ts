import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { type ProfileByPod, perProcess } from '../../profiles/profile-by-pod.ts'
import {
  type Affected,
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  listFacts,
} from '../../rules/rule.ts'
import { factIn } from '../../rules/sentence.ts'
import { MIN_SECONDS, percentOf } from '../../rules/time-lost.ts'
import { MAIN_TIME } from './current-stacks.ts'

/** The least part of the time in the data loader, in percent. */
const MIN_PERCENT = 10

const FACTS = {
  'part of the time': 'percent',
  'waiting in the data loader': 's',
  'running in the data loader': 's',
} as const satisfies FactUnits

/**
 * The function of PyTorch's data loader that returns the next batch, with and without workers. From
 * CPython 3.11 on, the name of a function has the name of its class.
 */
const NEXT_BATCH = /^(\w+\.)?__next__ \((.*\/)?torch\/utils\/data\/dataloader\.py:\d+\)$/

/**
 * A pod whose main threads spent much of their time in the data loader of PyTorch: they waited for
 * a worker, or loaded the batch themselves. The workers do not count.
 */
export const MUCH_TIME_IN_DATA_LOADER = defineRule({
  name: 'much-time-in-data-loader',
  title: 'Much time in the data loader',
  severity: 'slowdown',
  isOptional: true,
  needs: [[MAIN_TIME]],
  threshold: {
    value: MIN_PERCENT,
    unit: 'percent',
    condition:
      'the processes of a program in Python spent at least 10 % of their time, and at least 1 s, ' +
      'in the function of the data loader of PyTorch that returns the next batch. The time is ' +
      'that of main threads that wait, and of all threads that run, without the workers of the ' +
      'data loader. Of several processes of a pod, the mean counts',
    source:
      'the TensorBoard plugin of the PyTorch profiler, which warns from 5 % of the time of the ' +
      'steps on; the number 10 %: Ridealong, which does not know the steps',
  },
  find: findDataLoaders,
  sentence: (worst) =>
    `spent ${factIn(worst, 'part of the time')} of its time in the data loader of PyTorch: ` +
    `${factIn(worst, 'waiting in the data loader')} waiting, and ` +
    `${factIn(worst, 'running in the data loader')} running`,
  facts: FACTS,
  reads: [MAIN_TIME],
  explains: [EXPLAINS_IDLE],
  advice:
    'If it waits, give the data loader more workers (num_workers) and processors, or faster ' +
    'storage; other findings may say that the storage or the processor is short. If it runs, it ' +
    'loads the data itself: set num_workers. The flame graph of the report shows which functions ' +
    'take the time.',
  // The rows are sums over the whole run.
  plots: [],
})

type AffectedPod = Affected<keyof typeof FACTS>

/** The seconds in the data loader and of a program, on one pod. */
interface LoaderTime {
  readonly waiting: number
  readonly running: number
  readonly whole: number
}

const NO_TIME: LoaderTime = { waiting: 0, running: 0, whole: 0 }

function findDataLoaders({ profiles, pods }: RunEvidence): readonly AffectedPod[] {
  const programs = [...Map.groupBy(profiles, ({ executable }) => executable).values()].map(timesIn)
  return pods.flatMap(({ pod, elapsed }): readonly AffectedPod[] => {
    const times = programs.flatMap((program) => program.get(pod) ?? [])
    const [worst] = times.sort((a, b) => percentIn(b) - percentIn(a))
    if (worst === undefined) return []
    const percent = percentIn(worst)
    const { waiting, running } = worst
    if (percent < MIN_PERCENT || waiting + running < MIN_SECONDS) return []
    const facts = listFacts(FACTS, {
      'part of the time': percent,
      'waiting in the data loader': waiting,
      'running in the data loader': running,
    })
    return [{ pod, things: [], lost: (percent * elapsed) / 100, facts }]
  })
}

function percentIn({ waiting, running, whole }: LoaderTime): number {
  return percentOf(waiting + running, whole)
}

/** Returns the times of each pod in a program. @param profiles those of the program */
function timesIn(profiles: readonly ProfileByPod[]): ReadonlyMap<string, LoaderTime> {
  const pods = Map.groupBy(profiles.flatMap(timesOfKind), ({ pod }) => pod)
  return new Map([...pods].map(([pod, times]) => [pod, times.reduce(plus, NO_TIME)]))
}

interface PodTime extends LoaderTime {
  readonly pod: string
}

function timesOfKind(profile: ProfileByPod): readonly PodTime[] {
  const { kind, pods, secondsThrough } = perProcess(profile)
  if (kind !== 'waiting' && kind !== 'running') return []
  const [all, loader] = [secondsThrough(/^/), secondsThrough(NEXT_BATCH)]
  return pods.map((pod, index) => {
    return { ...NO_TIME, pod, whole: all[index] ?? 0, [kind]: loader[index] ?? 0 }
  })
}

function plus(sum: LoaderTime, { waiting, running, whole }: LoaderTime): LoaderTime {
  return {
    waiting: sum.waiting + waiting,
    running: sum.running + running,
    whole: sum.whole + whole,
  }
}
