/** A violation of a rule of the repository. */
export interface Problem {
  /** The path, relative to the repository. */
  readonly path: string
  /** The line, counted from 1; undefined if the problem is the file or the folder itself. */
  readonly line?: number
  readonly message: string
}

/** A file of the repository. The path is relative to the repository. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** Renders a problem as `path:line: message`, which editors show as a link. */
export function renderProblem({ path, line, message }: Problem): string {
  return line === undefined ? `${path}: ${message}` : `${path}:${line}: ${message}`
}
