/** The words in the names of RuntimeClasses whose pods run on a kernel of their own. */
const SANDBOXES: readonly string[] = [
  // gVisor: the kernel is a program, whose /proc lacks files (gvisor pkg/sentry/fsimpl/proc). GKE
  // Sandbox and the documentation of gVisor name the RuntimeClass `gvisor`, and its handler runsc.
  'gvisor',
  'runsc',
  // Kata Containers: a virtual machine (kata-containers tools/packaging/kata-deploy/runtimeclasses:
  // kata-qemu, kata-clh, kata-fc, …). OpenShift: kata and kata-remote; AKS: kata-vm-isolation.
  'kata',
  // firecracker-containerd and the RuntimeClasses of microVMs that are named after it.
  'firecracker',
  // Confidential Containers (confidential-containers/operator): enclave-cc.
  'enclave',
  // Runtimes of WebAssembly (runwasi: wasmtime, wasmedge, wasmer; SpinKube: wasmtime-spin-v2;
  // crun: crun-wasm).
  'wasm',
  'spin',
]

/**
 * Reports whether the RuntimeClass of a pod is known to run containers in a sandbox, so that the
 * rules of Linux about /proc may not apply. A pod has only the name of its RuntimeClass, which an
 * administrator chooses; the handler is not known at admission.
 *
 * @param runtimeClassName `spec.runtimeClassName`, which has not been validated
 */
export function isSandboxed(runtimeClassName: unknown): boolean {
  if (typeof runtimeClassName !== 'string' || runtimeClassName.length > MAX_NAME_LENGTH)
    return false
  const words = runtimeClassName.split(/[-.]/)
  return words.some((word) => SANDBOXES.some((sandbox) => word.startsWith(sandbox)))
}

/** The maximum length of the name of a RuntimeClass, which is a DNS subdomain. */
const MAX_NAME_LENGTH = 253
