/** Saves a file through the browser, wherever the user has set. */
export function saveFile(file: File): void {
  const href = URL.createObjectURL(file)
  Object.assign(document.createElement('a'), { href, download: file.name }).click()
  URL.revokeObjectURL(href)
}
