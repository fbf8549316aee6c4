import t from 'tap'
import { freePorts } from '../../../free-ports.ts'
import { checkLateRank } from '../late-rank.ts'
import { torchTests } from '../torch-tool.ts'

// The late rank with PyTorch itself, which is too large for the other tests (5 GB). `npm run
// test:torch` runs this file.

const options = torchTests()
const python = process.env.TORCH_PYTHON

t.test('the late rank and its delay are those of the program', options, async (t) => {
  if (python === undefined) throw new Error('set TORCH_PYTHON to a Python that has PyTorch')
  const [port] = await freePorts(1)
  await checkLateRank(t, python, { MASTER_ADDR: '127.0.0.1', MASTER_PORT: String(port) })
})
