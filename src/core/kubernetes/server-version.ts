import { asText, type Fields } from './json.ts'

/**
 * Reads the version whose rules an apiserver applies, from the object that it serves at `/version`
 * (apimachinery pkg/version, Info). An apiserver that emulates an older version applies the rules
 * of that version. The minor version of some providers has a suffix, for example `30+`.
 *
 * @returns N of the version 1.N, or undefined if the object contains no such version
 */
export function readServerVersion(info: Fields): number | undefined {
  const minor = readMinor(info.major, info.minor)
  if (minor === undefined || info.emulationMinor === undefined) return minor
  const emulated = readMinor(info.emulationMajor, info.emulationMinor)
  return emulated && Math.min(minor, emulated)
}

function readMinor(major: unknown, minor: unknown): number | undefined {
  const digits = major === '1' ? /^\d+/.exec(asText(minor) ?? '')?.[0] : undefined
  return digits === undefined ? undefined : Number(digits)
}
