import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { run } from '../../../tools/mpi/programs.ts'
import { BUILD, pythons, pythonTests } from '../../../tools/python/sampler.ts'
import { openFolder } from '../../pod.ts'

/** All samples together, and those of a version with the sanitizers, which are slower. */
const SAMPLES = Number(process.env.SAMPLES ?? 10_000_000)
const SANITIZED = Number(process.env.SANITIZED ?? 200_000)
/** The first looks meet an interpreter that begins. */
const STARTS = Number(process.env.STARTS ?? 50)

const CHURN = fileURLToPath(new URL('churn.py', import.meta.url))
const SAMPLER = fileURLToPath(new URL('../../../../observer/python/sampler.c', import.meta.url))
/** The sampler takes one sample after another, whatever that costs. */
const FAST = ['-DMAX_COST_FACTOR=0', '-DMAX_FREQUENCY=1000000']
const HOUR = 3_600_000
const options = { ...pythonTests(), timeout: 4 * HOUR }
const folder = openFolder('ridealong-samples-')
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

/** Builds the sampler as for the image, but for its pauses. */
function buildFast(): string {
  const [compiler, library] = [join(folder, 'cc'), join(folder, 'libridealong-python.so')]
  writeFileSync(compiler, `#!/bin/sh\nexec gcc ${FAST.join(' ')} "$@"\n`, { mode: 0o755 })
  const env = { ...process.env, CC: compiler }
  execFileSync(BUILD, [process.arch === 'x64' ? 'amd64' : 'arm64', library], { env })
  return library
}

/** Builds the sampler with the sanitizers of addresses and of undefined behaviour. */
function buildSanitized(): string {
  const library = join(folder, 'sanitized.so')
  const words = ['-std=c11', '-O1', '-g', '-fPIC', '-shared', '-fvisibility=hidden']
  const same = ['-ffreestanding', '-fno-builtin', '-fno-tree-loop-distribute-patterns']
  const checks = ['-fsanitize=address,undefined', '-fno-sanitize-recover=undefined']
  execFileSync('gcc', [...words, ...same, ...checks, ...FAST, '-o', library, SAMPLER])
  return library
}

/** Returns the path of a library of the compiler. */
function libraryOf(name: string): string {
  return execFileSync('gcc', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim()
}

async function churn(python: string, samples: number, env: NodeJS.ProcessEnv) {
  const variables = { ...env, RIDEALONG_PYTHON_FREQUENCY: '1000000' }
  return run([python, CHURN, String(samples)], variables, '', 3 * HOUR)
}

const all = pythons()
const each = Math.ceil(SAMPLES / all.length)
for (const { version, path } of all) {
  t.test(`CPython ${version}: ${each} samples of objects that are freed`, options, async (t) => {
    const { code, output, errors } = await churn(path, each, { LD_PRELOAD: buildFast() })
    t.strictSame([code, output, errors], [0, 'done\n', ''])
  })
  t.test(`CPython ${version}: ${STARTS} processes that begin are sampled`, options, async (t) => {
    const library = buildFast()
    for (let count = 0; count < STARTS; count += 1) {
      const { output } = await churn(path, 100, { LD_PRELOAD: library })
      t.equal(output, 'done\n')
    }
  })
  t.test(`CPython ${version}: the sanitizers find nothing in the sampler`, options, async (t) => {
    const libraries = [libraryOf('libasan.so'), libraryOf('libubsan.so'), buildSanitized()]
    const reports = join(folder, `report-${version}`)
    const log = `log_path=${reports}:detect_leaks=0:verify_asan_link_order=0`
    const env = { LD_PRELOAD: libraries.join(' '), ASAN_OPTIONS: log, UBSAN_OPTIONS: log }
    const { code, output, errors } = await churn(path, SANITIZED, env)
    t.strictSame([code, output, errors], [0, 'done\n', ''])
    t.strictSame(
      readdirSync(folder).filter((name) => name.startsWith(`report-${version}`)),
      [],
    )
    t.notOk(existsSync(reports))
  })
}
