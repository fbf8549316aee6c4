import { MOST_CAPABILITIES, type SecurityContext } from './pod.ts'

/** Whether something is true of a container. `unknown` means that it depends on the node. */
export type Certainty = 'yes' | 'no' | 'unknown'

/**
 * The capabilities that every container runtime grants by default: those of CRI-O
 * (internal/config/capabilities/capabilities.go), which grants fewer than the others.
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

/** The capabilities that root has in a container, by names in upper case without `CAP_`. */
export interface Capabilities {
  readonly isPrivileged: boolean
  readonly added: ReadonlySet<string>
  readonly dropped: ReadonlySet<string>
  /** The names that were written with the prefix `CAP_`, which has an effect in CRI-O only. */
  readonly prefixed: ReadonlySet<string>
}

/**
 * Reads the capabilities of root in a container. Added capabilities with more names than there can
 * be are read as ALL, because only the first names are known.
 */
export function readCapabilities(context: SecurityContext): Capabilities {
  const isUnbounded = context.addedCapabilities.length > MOST_CAPABILITIES
  const added = upperCase(isUnbounded ? ['ALL'] : context.addedCapabilities)
  const dropped = upperCase(context.droppedCapabilities)
  const prefixed = [...added, ...dropped].filter(isPrefixed)
  return {
    isPrivileged: context.privileged,
    added: new Set(added.filter((name) => !isPrefixed(name))),
    dropped: new Set(dropped.filter((name) => !isPrefixed(name))),
    prefixed: new Set(prefixed.map((name) => name.slice(PREFIX.length))),
  }
}

const PREFIX = 'CAP_'

function isPrefixed(name: string): boolean {
  return name.startsWith(PREFIX)
}

function upperCase(names: readonly string[]): readonly string[] {
  return names.map((name) => name.toUpperCase())
}

/**
 * Reports whether root in a container has a capability. The order is that of containerd
 * (internal/cri/opts/spec_linux_opts.go, WithCapabilities): ALL before single names, and a name
 * that is dropped before one that is added.
 *
 * @param name the name in upper case, without the prefix `CAP_`
 */
export function hasCapability(capabilities: Capabilities, name: string): Certainty {
  const { isPrivileged, added, dropped, prefixed } = capabilities
  if (isPrivileged) return 'yes'
  if (prefixed.has(name)) return 'unknown'
  if (dropped.has(name)) return 'no'
  if (added.has(name)) return 'yes'
  if (dropped.has('ALL')) return 'no'
  if (added.has('ALL') || GRANTED_BY_ALL.has(name)) return 'yes'
  return GRANTED_BY_SOME.has(name) ? 'unknown' : 'no'
}

/** Stands for all capabilities that neither a list nor a default of a runtime names. */
const ANY_OTHER = ''

const UNNAMED = [ANY_OTHER, ...GRANTED_BY_ALL, ...GRANTED_BY_SOME]

/**
 * Reports whether root in one container has all capabilities that root in another container has.
 */
export function coversCapabilities(holder: Capabilities, other: Capabilities): Certainty {
  if (holder.isPrivileged || isWithoutMore(holder, other)) return 'yes'
  const named = [...other.added, ...other.prefixed, ...holder.dropped]
  const names = [...UNNAMED, ...named.filter((name) => name !== 'ALL')]
  const answers = new Set(names.map((name) => coversOne(holder, other, name)))
  if (answers.has('no')) return 'no'
  return answers.has('unknown') ? 'unknown' : 'yes'
}

/** The usual case: the other container adds nothing, and drops all that the holder drops. */
function isWithoutMore(holder: Capabilities, other: Capabilities): boolean {
  if (other.isPrivileged || other.added.size + other.prefixed.size + holder.prefixed.size > 0) {
    return false
  }
  for (const name of holder.dropped) if (!other.dropped.has(name)) return false
  return true
}

function coversOne(holder: Capabilities, other: Capabilities, name: string): Certainty {
  const isHeld = hasCapability(holder, name)
  const isNeeded = hasCapability(other, name)
  // If both depend on the runtime, the two containers are equal, because they have the same one.
  if (isHeld === 'yes' || isNeeded === 'no' || isHeld === isNeeded) return 'yes'
  return isHeld === 'no' && isNeeded === 'yes' ? 'no' : 'unknown'
}
