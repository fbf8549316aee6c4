import { durationText } from '../../../lib/duration.ts'
import { maximum } from '../../../lib/statistics.ts'
import { libraryRanks } from '../../rules/sentence.ts'
import { sinceText } from '../../rules/stuck.ts'
import { activityText } from '../../waiting/absent-activity.ts'
import { nameGroups } from '../../waiting/named-groups.ts'
import type { LateRank, StuckRanks } from './stuck-ranks.ts'

/** Describes ranks of NCCL that made no progress when a log ended. Returns several sentences. */
export function describeRanks(stuck: StuckRanks): string {
  return describe(sinceText(stuck.answer.seconds - secondsOf(stuck)), stuck)
}

/** Describes ranks of NCCL that make no progress now, for how long. Returns several sentences. */
export function describeRanksNow(stuck: StuckRanks): string {
  return describe(`For ${durationText(secondsOf(stuck))}`, stuck)
}

function secondsOf({ waited, late }: StuckRanks): number {
  return waited ?? maximum(late.map(({ unchanged }) => unchanged)) ?? 0
}

function describe(beginning: string, stuck: StuckRanks): string {
  const { why, communicator } = stuck
  const { name, size } = communicator
  const of = size === null ? '' : ` of ${size} ranks`
  const where = `the NCCL communicator ${name}${of}`
  if (why === 'nccl-mismatch')
    return (
      `${beginning}, the ranks of ${where} have launched different operations: ` +
      `${mismatchText(stuck)}. All ranks must launch the operations in the same order.`
    )
  return [`${beginning}, ${waitsText(stuck)} ${where}.`, ...lateTexts(stuck)].join(' ')
}

/** Describes the ranks that are not late, up to the name of the communicator. */
function waitsText({ communicator: { ahead, operation, launched }, late }: StuckRanks): string {
  const isBehind = late.some(({ isMissing }) => !isMissing)
  if (!isBehind || operation === null || launched === null)
    return 'no rank has launched an operation in'
  if (ahead === 0) return 'no rank has launched all operations of'
  const count = ahead === null ? 'ranks' : `${ahead} ${ahead === 1 ? 'rank' : 'ranks'}`
  const verb = ahead === 1 ? 'waits' : 'wait'
  const number = launched.toLocaleString('en')
  return operation === 'collective'
    ? `${count} ${verb} in operation number ${number} of`
    : `${count} ${verb} in ${operation} number ${number} of`
}

function lateTexts({ late, communicator }: StuckRanks): readonly string[] {
  const groups = Map.groupBy(late, (one) => actionText(one, true))
  const named = nameGroups(groups, (first, own) => {
    const pods = new Set(own.map(({ pod }) => pod))
    const where = pods.size === 1 && first.pod != null ? ` (pod ${first.pod})` : ''
    return `${ranksText(own)}${where} ${actionText(first, own.length === 1)}.`
  })
  const others = communicator.behind + communicator.missing - (late.length - named.others)
  const verb = others === 1 ? 'is' : 'are'
  return others > 0 ? [...named.texts, `${others} more ${verb} late.`] : named.texts
}

function ranksText(ranks: readonly LateRank[]): string {
  return libraryRanks(
    'NCCL',
    ranks.map(({ rank }) => rank),
  )
}

/** Describes the missing action of a rank, and the activity of its process. */
function actionText(rank: LateRank, isOnly: boolean): string {
  const process = isOnly ? 'its process' : 'the process'
  const action = rank.isMissing ? missingText(rank, isOnly) : behindText(rank, isOnly)
  const { activity, line } = rank
  const inside = line === null ? '' : ` in ${line}`
  if (activity !== null) return `${action}: ${process} ${activityText(activity)}${inside}`
  return line === null ? action : `${action}: ${process} is${inside}`
}

function missingText({ state }: LateRank, isOnly: boolean): string {
  const verb = isOnly ? 'does' : 'do'
  return state === 'dead'
    ? `${verb} not answer, and NCCL considers ${isOnly ? 'it' : 'them'} dead`
    : `${verb} not answer`
}

function behindText({ behind, operation }: LateRank, isOnly: boolean): string {
  const verb = isOnly ? 'has not come' : 'have not come'
  const what = operation === null || operation === 'collective' ? 'operations' : operation
  return behind === null || behind <= 1
    ? verb
    : `${verb}, and ${isOnly ? 'is' : 'are'} ${behind.toLocaleString('en')} calls of ${what} behind`
}

function mismatchText({ late }: StuckRanks): string {
  const groups = Map.groupBy(late, ({ operation }) => operation)
  const { texts } = nameGroups(groups, ({ operation }, own) => {
    const verb = own.length === 1 ? 'is' : 'are'
    return `${ranksText(own)} ${verb} behind in ${operation ?? 'an operation'}`
  })
  return texts.join(', ')
}
