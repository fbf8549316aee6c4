import ts from 'typescript'

/** A change of a program that its tests should notice. */
export interface Mutation {
  /** The first character that is replaced, and the first that is not. */
  readonly start: number
  readonly end: number
  readonly text: string
}

const { SyntaxKind } = ts

/** The operators that a mutation exchanges, as the mutators of Stryker do. */
const OPERATORS: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [SyntaxKind.LessThanToken]: '<=',
  [SyntaxKind.LessThanEqualsToken]: '<',
  [SyntaxKind.GreaterThanToken]: '>=',
  [SyntaxKind.GreaterThanEqualsToken]: '>',
  [SyntaxKind.AmpersandAmpersandToken]: '||',
  [SyntaxKind.BarBarToken]: '&&',
  [SyntaxKind.MinusToken]: '+',
  [SyntaxKind.AsteriskToken]: '/',
  [SyntaxKind.SlashToken]: '*',
}

/** Finds the mutations of a module: of operators, conditions, booleans and numbers. */
export function findMutations(source: string): readonly Mutation[] {
  const file = ts.createSourceFile('module.ts', source, ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): readonly Mutation[] => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return []
    const inside: Mutation[] = []
    ts.forEachChild(node, (child) => {
      inside.push(...visit(child))
    })
    return [...mutationsOf(node), ...inside]
  }
  return visit(file)
}

/** Returns the source text with a mutation. */
export function applyMutation(source: string, { start, end, text }: Mutation): string {
  return source.slice(0, start) + text + source.slice(end)
}

function mutationsOf(node: ts.Node): readonly Mutation[] {
  const replace = (replaced: ts.Node, text: string) => [
    { start: replaced.getStart(), end: replaced.getEnd(), text },
  ]
  if (ts.isBinaryExpression(node)) {
    const text = OPERATORS[node.operatorToken.kind]
    return text === undefined ? [] : replace(node.operatorToken, text)
  }
  if (ts.isIfStatement(node)) return replace(node.expression, `!(${node.expression.getText()})`)
  if (ts.isConditionalExpression(node))
    return replace(node.condition, `!(${node.condition.getText()})`)
  if (ts.isNumericLiteral(node)) return replace(node, `(${node.getText()} + 1)`)
  if (node.kind === SyntaxKind.TrueKeyword) return replace(node, 'false')
  if (node.kind === SyntaxKind.FalseKeyword) return replace(node, 'true')
  return []
}
