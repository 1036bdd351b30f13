// Lets Pi ask its providers through the listener of `foldaway run`, in this process only.
export default function (pi) {
  const addresses = JSON.parse(process.env.PI_FOLDAWAY_PROVIDERS || "{}");
  for (const [name, baseUrl] of Object.entries(addresses)) pi.registerProvider(name, { baseUrl });
}
