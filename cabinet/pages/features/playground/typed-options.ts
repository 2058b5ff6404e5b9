/** A temperature as users type it, with a comma or a point. `undefined`: empty; `wrong`: not a temperature. Pure. */
export function readTemperature(text: string): number | undefined | 'wrong' {
  const plain = text.normalize('NFKC').trim().replace(',', '.')
  if (plain === '') return undefined
  return /^\d(?:\.\d{1,4})?$/.test(plain) && Number(plain) <= 2 ? Number(plain) : 'wrong'
}

/** A limit of an answer, in tokens. Pure. */
export function readMaxTokens(text: string): number | undefined | 'wrong' {
  const plain = text.normalize('NFKC').replace(/\s/gu, '')
  if (plain === '') return undefined
  return /^[1-9]\d{0,8}$/.test(plain) ? Number(plain) : 'wrong'
}
