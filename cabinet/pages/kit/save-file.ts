/** As the browser saves any file: where people have told it to. */
export function saveFile(file: File): void {
  const href = URL.createObjectURL(file)
  Object.assign(document.createElement('a'), { href, download: file.name }).click()
  URL.revokeObjectURL(href)
}
