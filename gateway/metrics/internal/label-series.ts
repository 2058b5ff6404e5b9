export type Labels<Label extends string> = Readonly<Record<Label, string>>

/** The data for each set of values of some labels. */
export type LabelSeries<Label extends string, Kept> = {
  of(labels: Labels<Label>): Kept
  all(): Iterable<readonly [Labels<Label>, Kept]>
  /** Forgets some. */
  drop(isGone: (labels: Labels<Label>) => boolean): void
}

/** Makes what is kept of each set when it is first asked for. */
export function createLabelSeries<Label extends string, Kept>(
  labelNames: readonly Label[],
  make: (labels: Labels<Label>) => Kept,
): LabelSeries<Label, Kept> {
  let all: (readonly [Labels<Label>, Kept])[] = []
  let root = createBranch<Kept>()

  function branchFor(labels: Labels<Label>): Branch<Kept> {
    let branch = root
    for (const name of labelNames) branch = branchOf(branch, labels[name])
    return branch
  }

  return {
    all: () => all,
    of(labels) {
      const branch = branchFor(labels)
      if (branch.kept !== undefined) return branch.kept
      branch.kept = make(labels)
      all.push([labels, branch.kept])
      return branch.kept
    },
    drop(isGone) {
      all = all.filter(([labels]) => !isGone(labels))
      root = createBranch()
      for (const [labels, kept] of all) branchFor(labels).kept = kept
    },
  }
}

/** Series with the same values of their first labels; found without joining them into one string. */
type Branch<Kept> = {
  readonly branches: Map<string, Branch<Kept>>
  kept: Kept | undefined
}

function createBranch<Kept>(): Branch<Kept> {
  return { branches: new Map(), kept: undefined }
}

function branchOf<Kept>({ branches }: Branch<Kept>, value: string): Branch<Kept> {
  const known = branches.get(value)
  if (known !== undefined) return known
  const branch = createBranch<Kept>()
  branches.set(value, branch)
  return branch
}
