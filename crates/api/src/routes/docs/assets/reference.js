// Shows the operations with Scalar, which keeps what is typed into it, keys among it, in the storage
// that it finds: that of the tab, which ends with the tab.
Object.defineProperty(window, "localStorage", { value: window.sessionStorage });

const scalar = document.querySelector('link[rel="modulepreload"]').href;
const { createApiReference } = await import(scalar);

createApiReference("#reference", {
  url: "/docs/assets/reference.json",
  // The server that this page came from, under the name that the reader knows it by.
  servers: [{ url: location.origin }],
  // Nobody else is asked for anything, and nobody else is told of anything.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  documentDownloadType: "none",
  persistAuth: true,
  authentication: { preferredSecurityScheme: "apiKey" },
  // The document brings its samples along.
  hiddenClients: true,
  hideModels: true,
  operationTitleSource: "summary",
});
