const paths = {
  overview: 'M4 13h6V4H4v9Zm0 7h6v-4H4v4Zm10 0h6v-9h-6v9Zm0-16v4h6V4h-6Z',
  key: 'M15 9.5a.5.5 0 1 0 0-1 .5.5 0 0 0 0 1ZM15 4a5 5 0 0 0-4.8 6.4L4 16.6V20h3.4v-2.2h2.2v-2.2l2-2A5 5 0 1 0 15 4Z',
  usage: 'M4 20V4m0 16h16M8.5 16v-4m4 4V8m4 8v-6',
  requests: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  billing:
    'M4 7.5h13.5A2.5 2.5 0 0 1 20 10v7a2.5 2.5 0 0 1-2.5 2.5h-11A2.5 2.5 0 0 1 4 17V7.5Zm0 0A2.5 2.5 0 0 1 6.5 5H16m0 8.5h.01',
  connect: 'M9 4v5m6-5v5m-8.5 0h11v3a5.5 5.5 0 0 1-11 0V9Zm5.5 8.5V21',
  playground: 'M5 5h14v10.5H12L7.5 19v-3.5H5V5Zm4.5 5h5',
  settings: 'M5 7h8m4 0h2M5 17h2m4 0h8M15 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm-6 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  models: 'M12 3.5 20 8v8l-8 4.5L4 16V8l8-4.5Zm0 0v0M4 8l8 4.5L20 8m-8 4.5v8',
  person: 'M12 12a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-7 7.5c.8-3.2 3.6-4.5 7-4.5s6.2 1.3 7 4.5',
  team: 'M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-6 8c.6-3 2.8-4.5 6-4.5s5.4 1.5 6 4.5m.5-8.2a2.5 2.5 0 1 0-.6-4.9M17 14.6c2.2.4 3.5 1.8 4 4.4',
  copy: 'M9 9h10.5v10.5H9V9Zm-4.5 6V4.5H15',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  close: 'M6 6l12 12M18 6 6 18',
  warning: 'M12 4 3 19.5h18L12 4Zm0 6v4.5m0 2.5v.01',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm0-13v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.4m0-12.8L17 7M7 17l-1.4 1.4',
  moon: 'M20 14.5A8.2 8.2 0 0 1 9.5 4 8.2 8.2 0 1 0 20 14.5Z',
  device: 'M4 5h16v11H4V5Zm5 14.5h6',
  down: 'm6 9.5 6 6 6-6',
  right: 'm9.5 6 6 6-6 6',
  plus: 'M12 5v14M5 12h14',
  download: 'M12 4.5v10m0 0 4-4m-4 4-4-4M5 19.5h14',
  more: 'M4.5 12a.75.75 0 1 0 1.5 0 .75.75 0 0 0-1.5 0Zm6.75 0a.75.75 0 1 0 1.5 0 .75.75 0 0 0-1.5 0ZM18 12a.75.75 0 1 0 1.5 0 .75.75 0 0 0-1.5 0Z',
  external: 'M13 5h6v6m0-6-8.5 8.5M10 6.5H5V19h12.5v-5',
  offline: 'M4 4l16 16M8.5 15.5a5 5 0 0 1 7 0M5 12a10 10 0 0 1 4-2.5m5.5.2A10 10 0 0 1 19 12M12 19h.01',
} as const

export type IconName = keyof typeof paths

/** An icon next to a text with the same meaning: it has no accessible name. */
export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: 16 | 20 | 24 }) {
  return (
    <svg
      aria-hidden="true"
      className="shrink-0"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={paths[name]} />
    </svg>
  )
}
