import type { Books, Figures, WayRow } from '../abuse-case.ts'

const prefix = 'way/'

/** Name of a figure about one way of a case: a status, or `₽` for what was obtained. */
export function figureOfWay(way: string, what: number | '₽'): string {
  return `${prefix}${way}/${what}`
}

/** Whether a figure is about one way. Those of ways are in a separate table. */
export function isOfWay(figure: string): boolean {
  return figure.startsWith(prefix)
}

/** What the customer of each way obtained and paid, by the ways' names. */
export function readWays(
  ways: readonly string[],
  books: Readonly<Record<string, Books>>,
  figures: Figures,
): readonly WayRow[] {
  return ways.map((name) => {
    const own = Object.entries(figures).flatMap(([figure, count]) =>
      figure.startsWith(`${prefix}${name}/`)
        ? [[figure.slice(prefix.length + name.length + 1), count] as const]
        : [],
    )
    const { '₽': obtainedRub = 0, 200: servedCount = 0, ...refused } = Object.fromEntries(own)
    return { name, obtainedRub, paidRub: paidRubOf(books[name]), servedCount, refused }
  })
}

export function paidRubOf(books: Books | undefined): number {
  return Number(books?.costsNano.reduce((sum, cost) => sum + cost, 0n) ?? 0n) / 1e9
}

/** One line of the report. A way that was never served has proved nothing but its refusal. */
export function formatWay({ name, obtainedRub, paidRub, servedCount, refused }: WayRow): string {
  const others = Object.entries(refused).map(([status, count]) => `${count} × ${status}`)
  const served = servedCount > 0 ? `served ${servedCount}` : 'refused every time'
  return `${name.padEnd(24)} obtained ${obtainedRub.toFixed(3).padStart(8)} ₽, paid ${paidRub.toFixed(3).padStart(8)} ₽; ${[served, ...others].join(', ')}`
}
