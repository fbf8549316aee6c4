import t from 'tap'
import { systemMessage } from '../../../src/lib/error-message.ts'

t.test('the code of an error of the system is at the end of the message', async (t) => {
  for (const [message, expected] of [
    ['ENOSPC: no space left on device, write', 'no space left on device (ENOSPC)'],
    ["EACCES: permission denied, open '/a, b'", 'permission denied (EACCES)'],
    ['EPIPE: broken pipe', 'broken pipe (EPIPE)'],
    ['it is not a folder', 'it is not a folder'],
  ] as const)
    t.equal(systemMessage(new Error(message)), expected)
})
