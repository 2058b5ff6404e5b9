import { expect, test } from 'vitest'
import { csvText } from './csv-text.ts'

async function linesOf(...all: readonly (readonly (string | number | null)[])[]): Promise<string[]> {
  const lines = []
  for await (const line of csvText(rows(...all))) lines.push(line)
  return lines
}

async function* rows(...all: readonly (readonly (string | number | null)[])[]) {
  yield* all
}

test('rows are written as RFC 4180 says, for a spreadsheet that guesses', async () => {
  const lines = await linesOf(['a', 'b'], [1, null], ['x,y', 'say "hi"'], ['two
lines', '-1.5'])
  expect(lines.join('')).toBe('\u{feff}a,b\r\n1,\r\n"x,y","say ""hi"""\r\n"two\nlines",-1.5\r\n')
})

test.each(['=1+1', '+1', '@x', '-cmd', '\tx'])('a cell %j is no formula', async (cell) => {
  const [, line] = await linesOf([cell])
  expect(line).toBe(`'${cell}\r\n`)
})
