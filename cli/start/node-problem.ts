import manifest from '../../package.json' with { type: 'json' }

/**
 * Reports a version of Node that is too old for the command.
 *
 * @param version such as `v20.19.2`
 * @returns a sentence without the final period
 */
export function nodeProblem(version: string): string | undefined {
  const needed = manifest.engines.node.replace(/^>=/, '')
  const [major = 0, minor = 0] = numbersIn(version)
  const [neededMajor = 0, neededMinor = 0] = numbersIn(needed)
  const isEnough = major > neededMajor || (major === neededMajor && minor >= neededMinor)
  return isEnough ? undefined : `needs Node ${needed} or later; this is Node ${version}`
}

function numbersIn(version: string): readonly number[] {
  return version.replace(/^v/, '').split('.').map(Number)
}
