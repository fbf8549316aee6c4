import { MAX_CAPABILITIES, type SecurityContext } from './pod.ts'

/**
 * Whether a statement about a container is true; `unknown` if the answer depends on an image or on
 * the node.
 */
export type Certainty = 'yes' | 'no' | 'unknown'

/**
 * The capabilities that every container runtime grants by default. CRI-O grants only these
 * capabilities (internal/config/capabilities/capabilities.go), and other runtimes grant more.
 */
const GRANTED_BY_ALL: ReadonlySet<string> = new Set([
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'NET_BIND_SERVICE',
  'SETGID',
  'SETPCAP',
  'SETUID',
])

/** The other capabilities that containerd grants by default (pkg/oci/spec.go). */
const GRANTED_BY_SOME: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'MKNOD',
  'NET_RAW',
  'SETFCAP',
  'SYS_CHROOT',
])

/** Whether a container is privileged, and the capabilities it adds and drops, in upper case. */
export interface Capabilities {
  readonly isPrivileged: boolean
  readonly added: ReadonlySet<string>
  readonly dropped: ReadonlySet<string>
}

/**
 * Reads the capabilities of root in a container. If the container adds more names than there are
 * capabilities, the added names are read as ALL, because pod.ts reads only the first names of such
 * a list.
 */
export function readCapabilities(context: SecurityContext): Capabilities {
  const { privileged, addedCapabilities, droppedCapabilities } = context
  const isUnbounded = addedCapabilities.length > MAX_CAPABILITIES
  return {
    isPrivileged: privileged,
    added: upperCase(isUnbounded ? ['ALL'] : addedCapabilities),
    dropped: upperCase(droppedCapabilities),
  }
}

function upperCase(names: readonly string[]): ReadonlySet<string> {
  if (names.length === 0) return NO_NAMES
  return new Set(names.map((name) => name.toUpperCase()))
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** CRI-O accepts names with this prefix. In containerd, such a name has no effect. */
const PREFIX = 'CAP_'

/**
 * Reports whether root in a container has a capability. As in containerd
 * (internal/cri/opts/spec_linux_opts.go, WithCapabilities), the name of a capability takes
 * precedence over ALL, and a dropped name takes precedence over an added name.
 *
 * @param name the name in upper case, without the prefix `CAP_`
 */
export function hasCapability(capabilities: Capabilities, name: string): Certainty {
  const { isPrivileged, added, dropped } = capabilities
  const prefixed = PREFIX + name
  if (isPrivileged) return 'yes'
  if (added.has(prefixed) || dropped.has(prefixed)) return 'unknown'
  if (dropped.has(name)) return 'no'
  if (added.has(name)) return 'yes'
  return hasByDefault(capabilities, name)
}

function hasByDefault({ added, dropped }: Capabilities, name: string): Certainty {
  if (dropped.has('ALL')) return 'no'
  if (added.has('ALL') || GRANTED_BY_ALL.has(name)) return 'yes'
  return GRANTED_BY_SOME.has(name) ? 'unknown' : 'no'
}

/** Represents every capability that appears neither in a list nor in the defaults of a runtime. */
const ANY_OTHER = ''

const EVERY_NAME = [ANY_OTHER, ...GRANTED_BY_ALL, ...GRANTED_BY_SOME]

/**
 * Reports whether root in one container has all capabilities that root in another container has.
 */
export function coversCapabilities(holder: Capabilities, other: Capabilities): Certainty {
  if (holder.isPrivileged) return 'yes'
  const lacking = [...holder.dropped].filter((name) => !other.dropped.has(name))
  const named = [...other.added, ...lacking].map(withoutPrefix)
  const names = differsByDefault(holder, other) ? [...EVERY_NAME, ...named] : named
  const answers = names.map((name) => coversOne(holder, other, name))
  if (answers.includes('no')) return 'no'
  return answers.includes('unknown') ? 'unknown' : 'yes'
}

function withoutPrefix(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name
}

/** Reports whether the containers may differ in capabilities that their lists do not name. */
function differsByDefault(holder: Capabilities, other: Capabilities): boolean {
  const hasFewer = holder.dropped.has('ALL') && !other.dropped.has('ALL')
  return hasFewer || other.isPrivileged || other.added.has('ALL')
}

function coversOne(holder: Capabilities, other: Capabilities, name: string): Certainty {
  if (name === 'ALL') return 'yes'
  const isHeld = hasCapability(holder, name)
  const isNeeded = hasCapability(other, name)
  if (isHeld === 'yes' || isNeeded === 'no') return 'yes'
  if (isHeld === 'no' && isNeeded === 'yes') return 'no'
  return isHeld === isNeeded && isListedAlike(holder, other, name) ? 'yes' : 'unknown'
}

/**
 * Reports whether the lists of both containers name a capability in the same way. The capability
 * then has the same state in both, because the containers have the same runtime.
 */
function isListedAlike(holder: Capabilities, other: Capabilities, name: string): boolean {
  return ['ALL', name, PREFIX + name].every(
    (each) =>
      holder.added.has(each) === other.added.has(each) &&
      holder.dropped.has(each) === other.dropped.has(each),
  )
}
