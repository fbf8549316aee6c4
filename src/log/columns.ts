/** What a column of a sample is: its type, unit and meaning, for readers and for the documentation. */
export interface Column {
  readonly type: 'text' | 'number'
  readonly meaning: string
}

const text = (meaning: string) => ({ type: 'text', meaning }) as const
const number = (meaning: string) => ({ type: 'number', meaning }) as const

/** Where and when a sample was taken: in every sample. */
export const PLACE_COLUMNS = {
  kind: text('process, thread or device'),
  source: text('the log: NAMESPACE/POD/CONTAINER, or the name of a file'),
  metric: text('perf-sysstat or io-sysstat'),
  namespace: text('the namespace of the pod'),
  pod: text('the pod'),
  node: text('the node of the pod'),
  rank: text('the pod among those of its workload: its completion index, or the like'),
  timepoint: number('the number of the sample in its log, from 0'),
  time: text('when the sample was taken: UTC, or a time of day where the log says no date'),
  seconds: number('since the first timepoint of the log'),
  interval: number('seconds that the sample covers; empty for averages since the node started'),
} as const satisfies Record<string, Column>

/** What pidstat says of a process or a thread; the names are those that jc gives its columns. */
export const PROCESS_COLUMNS = {
  container: text('the container of the process'),
  program: text('the name of the program'),
  pid: number('process id, in the process namespace of the pod'),
  tid: number('thread id; empty for a process'),
  uid: number('user id'),
  percent_usr: number('% of a core, in the program itself'),
  percent_system: number('% of a core, in the kernel'),
  percent_guest: number('% of a core, in a virtual machine'),
  percent_wait: number('% of the interval spent waiting to run'),
  percent_cpu: number('% of a core, in all'),
  cpu: number('the core that it ran on last'),
  usr_ms: number('milliseconds in the program, children that ended included'),
  system_ms: number('milliseconds in the kernel, children that ended included'),
  guest_ms: number('milliseconds in a virtual machine, children that ended included'),
  kb_rd_s: number('KiB/s that it caused to be read from storage'),
  kb_wr_s: number('KiB/s that it caused to be written to storage'),
  kb_ccwr_s: number('KiB/s whose writing it cancelled'),
  iodelay: number('clock ticks of delay by block I/O'),
  prio: number('real-time priority'),
  policy: text('scheduling policy'),
  minflt_s: number('minor page faults/s'),
  majflt_s: number('major page faults/s'),
  vsz: number('KiB of virtual memory'),
  rss: number('KiB of resident memory'),
  percent_mem: number('resident memory, % of the memory of the node'),
  minflt_nr: number('minor page faults, children that ended included'),
  majflt_nr: number('major page faults, children that ended included'),
  stksize: number('KiB of stack'),
  stkref: number('KiB of stack in use'),
  threads: number('threads'),
  fd_nr: number('open file descriptors'),
  cswch_s: number('voluntary context switches/s'),
  nvcswch_s: number('involuntary context switches/s'),
} as const satisfies Record<string, Column>

/** What iostat says of a block device of the node; lower case, with _ for / and -. */
export const DEVICE_COLUMNS = {
  device: text('a block device of the node, which all its pods share'),
  r_s: number('reads/s'),
  w_s: number('writes/s'),
  d_s: number('discards/s'),
  f_s: number('flushes/s'),
  rmb_s: number('MB/s read'),
  wmb_s: number('MB/s written'),
  dmb_s: number('MB/s discarded'),
  rrqm_s: number('reads merged/s'),
  wrqm_s: number('writes merged/s'),
  drqm_s: number('discards merged/s'),
  rrqm: number('% of reads merged'),
  wrqm: number('% of writes merged'),
  drqm: number('% of discards merged'),
  r_await: number('milliseconds that a read takes'),
  w_await: number('milliseconds that a write takes'),
  d_await: number('milliseconds that a discard takes'),
  f_await: number('milliseconds that a flush takes'),
  rareq_sz: number('KiB of a read'),
  wareq_sz: number('KiB of a write'),
  dareq_sz: number('KiB of a discard'),
  aqu_sz: number('requests in the queue'),
  util: number('% of the interval with requests in hand'),
} as const satisfies Record<string, Column>

/** All columns in the order of the CSV, which never changes: a new column comes last. */
export const COLUMNS: Readonly<Record<string, Column>> = {
  ...PLACE_COLUMNS,
  ...PROCESS_COLUMNS,
  ...DEVICE_COLUMNS,
}

/** What a cell holds. Null is a counter that could not be read, never a zero. */
export type Cell = string | number | null

type Cells<Columns extends Record<string, Column>> = {
  readonly [Name in keyof Columns]: Columns[Name]['type'] extends 'number'
    ? number | null
    : string | null
}

/** Where a log comes from; null where nobody says. */
export type Place = Omit<Cells<typeof PLACE_COLUMNS>, 'kind' | keyof Moment>

/** When a timepoint was. */
export interface Moment {
  readonly timepoint: number
  readonly time: string | null
  readonly seconds: number
  readonly interval: number | null
}

export type ProcessCells = Cells<typeof PROCESS_COLUMNS>
export type DeviceCells = Cells<typeof DEVICE_COLUMNS>

export type ProcessSample = { readonly kind: 'process' | 'thread' } & Place & Moment & ProcessCells
export type DeviceSample = { readonly kind: 'device' } & Place & Moment & DeviceCells

/** One row: a process, a thread or a device at one timepoint of one log. */
export type Sample = ProcessSample | DeviceSample
