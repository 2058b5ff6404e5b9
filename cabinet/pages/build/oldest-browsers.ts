/** Features that we use unchanged, such as `light-dark()`: nothing is rewritten for older browsers. */
export const oldestBrowsers = ['chrome123', 'edge123', 'firefox121', 'safari17.5']
