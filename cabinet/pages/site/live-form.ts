/** Less than the 100 ms after which users notice a wait. */
const restMs = 80

/**
 * Shows the result of a form while the user types: the part of the page that `data-live` names is read again, and
 * replaced. Without it, the form's button loads the whole page.
 */
export function keepLive(form: HTMLFormElement): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let asked = ''

  async function show(): Promise<void> {
    const address = addressOf(form)
    asked = address
    const found = await fetch(address).then(
      (response) => (response.ok ? response.text() : undefined),
      () => undefined,
    )
    if (found === undefined || asked !== address) return // typed in the meantime
    const id = form.dataset.live ?? ''
    const part = new DOMParser().parseFromString(found, 'text/html').getElementById(id)
    if (part === null) return
    document.getElementById(id)?.replaceWith(part)
    history.replaceState(null, '', address)
  }

  form.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => void show(), restMs)
  })
}

/** The form's address, without fields that are empty. */
function addressOf(form: HTMLFormElement): string {
  const given = [...new FormData(form)].filter(([, value]) => value !== '') as [string, string][]
  const search = new URLSearchParams(given).toString()
  return `${new URL(form.action).pathname}${search === '' ? '' : `?${search}`}`
}
