import t from 'tap'
import { isSandboxed } from '../../../../src/core/rules/sandboxed-runtime.ts'

t.test('RuntimeClasses of sandboxes are recognized by the words of their names', async (t) => {
  const names = [
    'gvisor',
    'gvisor-gpu',
    'runsc',
    'kata',
    'kata-qemu',
    'kata-qemu-nvidia-gpu',
    'kata-fc',
    'kata-remote',
    'kata-mshv-vm-isolation',
    'my-kata',
    'firecracker',
    'enclave-cc',
    'wasmtime-spin-v2',
    'crun-wasm',
  ]
  for (const name of names) t.ok(isSandboxed(name), name)
})

t.test('other names, and values that are not names, are no sandboxes', async (t) => {
  const names = ['nvidia', 'runc', 'crun', 'sysbox-runc', 'katalog'.slice(0, 3), 'performance-hpc']
  for (const name of [...names, undefined, null, '', 7, {}, `gvisor-${'a'.repeat(300)}`]) {
    t.notOk(isSandboxed(name), String(name))
  }
})
