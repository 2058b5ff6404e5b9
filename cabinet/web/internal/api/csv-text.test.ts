import { expect, test } from 'vitest'
import { csvText } from './csv-text.ts'

type Rows = readonly (readonly (string | number | null)[])[]

async function* each(rows: Rows) {
  yield* rows
}

async function linesOf(...rows: Rows): Promise<string[]> {
  const lines = []
  for await (const line of csvText(each(rows))) lines.push(line)
  return lines
}

test('rows are written according to RFC 4180, for a spreadsheet that guesses', async () => {
  const lines = await linesOf(['a', 'b'], [1, null], ['x,y', 'say "hi"'], ['two\nlines', '-1.5'])
  expect(lines.join('')).toBe('\u{feff}a,b\r\n1,\r\n"x,y","say ""hi"""\r\n"two\nlines",-1.5\r\n')
})

test.each(['=1+1', '+1', '@x', '-cmd', '-2+3+cmd', '-1 ', '\tx', '＝1+1', '＋1', '＠x', '－1'])(
  'a cell %j is no formula',
  async (cell) => {
    const [, line] = await linesOf([cell])
    expect(line).toBe(`'${cell}\r\n`)
  },
)
