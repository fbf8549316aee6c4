import { readFileSync } from 'node:fs'
import t from 'tap'
import { formatText } from '../../../../cli/shared/table.ts'
import type { AttemptGroup } from '../../../../src/runs/attempts/attempt-groups.ts'
import { formatAttempts } from '../../../../src/runs/attempts/attempts-text.ts'

const NOON = Date.UTC(2026, 10, 30, 12)

function attemptOf(known: Partial<AttemptGroup>): AttemptGroup {
  return {
    ...{ attempt: 1, podIndex: '0', container: 'app', phase: 'Failed', reason: null },
    ...{ exitCode: null, signal: null, count: 1, started: NOON, ended: null, seconds: null },
    ...known,
  }
}

function print(attempts: readonly AttemptGroup[]): string {
  return formatText(formatAttempts(attempts), { width: 60 }).join('\n').trim()
}

t.test('the attempts of a few pods, as in the document', async (t) => {
  const going = { attempt: 2, phase: 'Running' } as const
  const printed = print([
    attemptOf({ reason: 'OOMKilled', exitCode: 137, seconds: 59 }),
    attemptOf({ podIndex: '1', reason: 'Error', exitCode: 1, seconds: 61 }),
    attemptOf({ ...going, started: NOON + 65_000 }),
    attemptOf({ ...going, podIndex: '1', started: NOON + 67_000 }),
  ])
  const page = readFileSync(new URL('../../../../docs/runs.md', import.meta.url), 'utf8')
  t.ok(page.includes(`\`\`\`text\n${printed}\n\`\`\``), printed)
})

t.test('attempts that are counted together, and those that are not known', async (t) => {
  const printed = print([
    attemptOf({ podIndex: null, exitCode: 1, count: 3, seconds: 812 }),
    attemptOf({ attempt: 2, phase: 'Succeeded', exitCode: 0, seconds: 60 }),
    attemptOf({ attempt: 2, phase: 'Unknown', podIndex: '1', container: 'side' }),
    attemptOf({ container: null, attempt: null, reason: 'Evicted' }),
    attemptOf({ attempt: null, phase: 'Unknown', count: 4, started: null }),
  ])
  t.equal(
    printed,
    [
      'Attempts',
      '  1  13 min 32 s  3 attempts, app           exit code 1',
      '  2  60 s         pod 0, app                succeeded',
      '  2  -            pod 1, side               its end was not seen',
      '  ?  -            pod 0                     failed: Evicted',
      '  ?  -            4 attempts of pod 0, app  no longer known',
    ].join('\n'),
  )
})

t.test('first attempts alone are not listed', async (t) => {
  t.equal(print([attemptOf({ phase: 'Succeeded' }), attemptOf({ exitCode: 1 })]), '')
})
