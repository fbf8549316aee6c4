import t from 'tap'
import {
  type Certainty,
  coversCapabilities,
  hasCapability,
  readCapabilities,
} from '../../../../src/core/kubernetes/capabilities.ts'
import { readSecurityContext } from '../../../../src/core/kubernetes/pod.ts'

interface Lists {
  readonly add?: readonly string[]
  readonly drop?: readonly string[]
}

/** Returns the capabilities of a container with these lists. */
const of = (capabilities: Lists, privileged = false) =>
  readCapabilities(readSecurityContext({ capabilities, privileged }))

t.test(
  'root in a container has the default and the added capabilities, without the dropped ones',
  async (t) => {
    const rows: [Certainty, string, Lists][] = [
      ['yes', 'CHOWN', {}],
      ['unknown', 'NET_RAW', {}],
      ['no', 'SYS_ADMIN', {}],
      ['yes', 'SYS_ADMIN', { add: ['SYS_ADMIN'] }],
      ['yes', 'SYS_ADMIN', { add: ['sys_admin'] }],
      ['yes', 'SYS_ADMIN', { add: ['ALL'] }],
      ['no', 'CHOWN', { drop: ['ALL'] }],
      ['no', 'CHOWN', { drop: ['all'] }],
      ['no', 'CHOWN', { drop: ['chown'] }],
      ['yes', 'CHOWN', { drop: ['ALL'], add: ['CHOWN'] }],
      ['no', 'CHOWN', { drop: ['CHOWN'], add: ['CHOWN'] }],
      ['no', 'CHOWN', { drop: ['CHOWN'], add: ['ALL'] }],
      ['no', 'CHOWN', { drop: ['ALL'], add: ['ALL'] }],
      ['unknown', 'CHOWN', { drop: ['CAP_CHOWN'] }],
      ['unknown', 'SYS_ADMIN', { add: ['CAP_SYS_ADMIN'] }],
    ]
    for (const [certainty, name, lists] of rows) {
      t.equal(hasCapability(of(lists), name), certainty, `${name} with ${JSON.stringify(lists)}`)
    }
    t.equal(
      hasCapability(of({ drop: ['ALL'] }, true), 'SYS_ADMIN'),
      'yes',
      'a privileged container has all capabilities',
    )
  },
)

/** Whether the first container has all capabilities of the second. */
const COVERED: readonly [Certainty, string, Lists, Lists][] = [
  ['yes', 'both have the default capabilities', {}, {}],
  ['yes', 'the other drops a capability', {}, { drop: ['KILL'] }],
  [
    'yes',
    'both drop the same capabilities',
    { drop: ['KILL', 'CAP_CHOWN'] },
    { drop: ['KILL', 'CAP_CHOWN'] },
  ],
  ['no', 'the first drops a capability', { drop: ['KILL'] }, {}],
  ['no', 'the first drops all', { drop: ['ALL'] }, { drop: ['KILL'] }],
  ['yes', 'both drop all', { drop: ['ALL'] }, { drop: ['ALL'] }],
  ['no', 'the other adds a capability', {}, { add: ['SYS_PTRACE'] }],
  ['no', 'the other adds all', { add: ['SYS_PTRACE'] }, { add: ['ALL'] }],
  ['yes', 'the other adds a default capability', {}, { add: ['CHOWN'] }],
  [
    'unknown',
    'the other adds a capability that only some runtimes grant by default',
    {},
    { add: ['MKNOD'] },
  ],
  [
    'unknown',
    'the first drops a capability that only some runtimes grant by default',
    { drop: ['MKNOD'] },
    {},
  ],
  ['unknown', 'the other adds a name with CAP_', {}, { add: ['CAP_SYS_ADMIN'] }],
  ['unknown', 'the first drops a name with CAP_', { drop: ['CAP_KILL'] }, {}],
  [
    'unknown',
    'the first drops a name with CAP_, and the other adds this name',
    { drop: ['CAP_MKNOD'] },
    { add: ['CAP_MKNOD'] },
  ],
  [
    'yes',
    'both drop all, and the first adds a capability',
    { drop: ['ALL'], add: ['BPF'] },
    { drop: ['ALL'] },
  ],
  [
    'no',
    'both drop all, and the other adds a capability',
    { drop: ['ALL'] },
    { drop: ['ALL'], add: ['KILL'] },
  ],
  ['yes', 'both add the same capability', { add: ['SYS_PTRACE'] }, { add: ['SYS_PTRACE'] }],
  ['yes', 'the first adds all', { add: ['ALL'] }, { add: ['SYS_PTRACE'] }],
  ['no', 'the first adds all but one', { add: ['ALL'], drop: ['BPF'] }, { add: ['ALL'] }],
  [
    'no',
    'the first drops two capabilities, one of which all runtimes grant by default',
    { drop: ['MKNOD', 'KILL'] },
    {},
  ],
]

t.test(
  'coversCapabilities() reports whether the first container has all capabilities of the second',
  async (t) => {
    for (const [certainty, name, holder, other] of COVERED) {
      t.equal(coversCapabilities(of(holder), of(other)), certainty, name)
    }
    t.equal(coversCapabilities(of({}), of({}, true)), 'no', 'the second container is privileged')
    t.equal(
      coversCapabilities(of({}, true), of({ add: ['ALL'] })),
      'yes',
      'the first container is privileged',
    )
  },
)
