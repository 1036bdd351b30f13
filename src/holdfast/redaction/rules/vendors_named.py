"""Keys without a shape of their own, which stand beside the name of their service."""

from __future__ import annotations

from holdfast.redaction.rule import Rule
from holdfast.redaction.rules.vendor_form import UUID, alnum, hexes, url_safe

_SERVICES = """
abbysale ably abuseipdb accuweather adafruit adobe aerisweather aeroworkflow agentops agora ai21
aikido airbrake airbyte aircall airship airtable airvisual aiven akamai alchemy alconost alegra
aleph_alpha aletheia algolia alibaba alienvault aliyun allsports alpha_vantage alphavantage
amazonmws amplitude anthropic anypoint anyscale apacta api2cart apideck apiflash apifonica apify
apilayer apimatic apiscience apitemplate appcenter appcircle appcues appfollow appointedd
appsflyer appsynergy apptivo appveyor appwrite arize artifactory artsy asana assembla assembly_ai
assemblyai astronomer atera atlassian audd auth0 autodesk autoklose avalara avaza aviationstack
axonaut aylien ayrshare azure backblaze bamboohr bannerbear baremetrics baseapi baseten
basistheory beamer beebole beehiiv besttime betterstack bigcommerce billomat binance bintray
bitbar bitbucket bitcoinaverage bitfinex bitly bitmex bitrise bittrex bitwarden blablabus
blazemeter blitapp blockcypher blockfrost blocknative blogger blynk bombbomb boostnote borgbase
braintree braintrust branch_io brandfetch brave_search brevo brightdata browserbase browserless
browserstack browshot bscscan buddyns bugherd bugsnag buildbuddy buildkite bulbul bulksms
buttercms caflou calendarific calendly calorieninja campayn cannyio canva capsulecrm captaindata
carboninterface caspio censys centralstationcrm cerebras cexio chainstack chargebee chargify
chartbeat chartmogul chatfule checkly checklyhq checkmarket checkvist chromatic circleci clarifai
clearbit clickatell clickhelp clickhouse clicksend clickup cliengo clinchpad clockify clockworksms
closecrm cloudamqp cloudant cloudconvert cloudelements cloudflare cloudimage cloudinary
cloudmersive cloudplan cloudsight cloudsmith cloudways cloverly cloze clustdoc cockroachdb codacy
codeclimate codecov codeium codemagic codequiry coderabbit cohere coinapi coinbase coingecko
coinlayer coinlib coinmarketcap comet_ml cometchat commercejs companyhub composio confluence
confluent contentful contentstack conversiontools convertkit conviva coralogix couchbase
countrylayer coveralls craftmypdf cronitor crossbrowsertesting crossmint crowdin crowdstrike
crunchbase cryptocompare cryptopanic currencycloud currencyfreaks currencylayer currencyscoop
currentsapi customer_io customerguru d7network dagster dailyco dareboost dashscope databricks
datadog datafire datagov datarobot datastax deepai deepgram deepinfra deepl deepseek deepset
descope detectify detectlanguage dfuse diffbot diggernaut digitalocean directus discord disqus
distribusion dnscheck dnsimple dockerhub docsend documo docusign doordash doppler dotmailer dovico
dronahq droneci dropbox duffel dwolla dynalist dynatrace dyspatch eagleeyenetworks easyinsight
easypost ecostruxure edamam edenai elastic_cloud elastic_email elasticcloud elasticemail
elasticpath elevenlabs emailoctopus enablex endorlabs equinix etherscan ethplorer etsy eventbrite
everhour eversign exchangerate exportsdk extractorapi facebook faceplusplus fakejson fal_ai
fastforex fastly fastspring fauna feedier feedly fetchrss fibery figma filestack finage
financialmodelingprep findl fingerprintjs finicity finnhub firebase firecrawl firehydrant
fireworks_ai fixerio flagsmith flatio fleetbase flickr flightapi flightstats flowdash flowdock
flowflu flutterwave flyio fmfw formbucket formcraft formio fortnox foursquare frameio freshbooks
freshdesk friendli fulcrum fullcontact fullstory fusebill fusionauth fxmarket geckoboard gemfury
gengo geoapify geocodify geocodio geoipifi getemail getgeoapi getgist getresponse getsandbox giphy
gitee gitguardian gitter gladia glassnode glitterly gocanvas gocardless gooddata goshippo
gosquared grafana graphcms graphhopper greynoise groovehq groq growthbook gtmetrix guardianapi
guesty gumroad gyazo happyscribe hcaptcha helicone helius hellosign helpcrunch helpscout hereapi
heroku hetzner heygen hiveage holidayapi honeybadger honeycomb hookdeck hotjar hubitat hubspot
huggingface humanloop humio hybiscus hygraph hypeauditor hyperbolic hypertrack ibm_cloud icims
iconfinder iexapis iexcloud imagekit imagga imgbb imgur impala infisical influxdb infobip infura
inngest insightly instagram integromat intercom interseller intrinio invoiceocean ipapi ipdata
ipgeolocation ipify ipinfo ipinfodb ipquality ipstack jamf jellyfin jfrog jira jotform jsonbin
jumpcloud jumpseller juro jwplayer kagi kairosdb kakaotalk kaleyra kanbantool karmacrm keenio
keycloak kickbox kinde kintone kiteconnect klarna klaviyo klipfolio knapsackpro kontent koyeb
kraken kucoin kylas lacework langfuse langsmith languagelayer lark_suite larksuite lastfm
launchdarkly leadfeeder leankit leaseweb lemonsqueezy lendflow lessannoyingcrm lexigram
line_messaging linked_in linkedin linkpreview linode liveagent liveblocks livekit livestorm
llamacloud loadmill localstack locationiq logdna logfire loggly loginradius logrocket logtail
logzio lokalise looker loyverse lunchmoney m3o macaddress madkudu magento magicbell mailboxlayer
mailchimp mailerlite mailersend mailgun mailjet mailmodo mailsac mailtrap mandrill mapbox
mapillary mapquest marketo marketstack mattermost mavenlink maxmind meaningcloud mediastack
meilisearch meistertask mem0 memcachier meraki mesibo message_bird messagebird messari metaapi
metabase metrilo mezmo microcms midise mindmeister mintlify miro mistral mixcloud mixmax mixpanel
mockaroo moesif mollie monkeylearn moonclerk moonshot moosend moralis mouseflow mrticktock
myfreshworks myintervals namecheap nasdaqdatalink netbird nethunt netlify neutrinoapi new_relic
newrelic newsapi newscatcher nexmo nftport ngrok nicehash nicereply nightfall nomic nordigen
northflank noticeable novita nozbe numverify nutritionix nylas nytimes oanda ocrspace okta
omnisend onbuka onedesk onelogin onepagecrm onesignal onwater oopspam open_weather openai opencage
opencorporates opendatasoft openexchangerates opengraphr openphone openrouter opensea openuv
openvpn openweathermap opsgenie optimizely ovhcloud owlbot packagecloud pagerduty pagertree
pandascore paperform papertrail papyrs paralleldots parasail parsehub parseur partnerstack
passbase pastebin paydirtapp paymentwall paymoapp paymongo paypal paystack pdflayer pdfshift pendo
peopledatalabs pepipost perigon perplexity pexels photoroom phraseapp pinata pinecone pingdom
pingone pinterest pipedream pipedrive pivotaltracker pixabay plaid planetscale planview planyo
playht plivo podio pollsapi poloniex polygon_io polygonscan polymarket portainer portkey
positionstack postageapp postbacks posthog postman postmark powrbot printfection prismic
private_ai privy prodpad promptlayer prospectcrm prospectio protocolsio proxycrawl pubnub pulumi
purestake pushbullet pusher pushover pyowm qdrant qstash qualaroo qubole quickbooks quickmetrics
quicknode rapid_api rapidapi rawg raygun razorpay reachmail reallysimplesystems rebrandly
recaptcha recurly redash reddit rentcast rentman repairshopr replicate replit resend restpack
retellai revampcrm revenuecat ringcentral riotgames ritekit roboflow rocketreach rockset rollbar
roninapp rossum route4me rownd rubygems rudderstack runpod runrunit runwayml saladcloud salesblink
salescookie salesflare salesforce salesloft sambanova samsara satismeter sauce_labs saucelabs
scaleapi scaleway scrapeowl scraper_api scraperapi scraperbox scrapersite scrapestack scrapfly
scrapingant scrapingbee scrapingdog screenshotapi screenshotlayer scrutinizer securitytrails
selectpdf sellfy semgrep sendbird sendgrid sendinblue sendoso sentinelone sentry serp_api serpapi
serper serphouse serpstack sheety sherpadesk shipday shippo shodan shopee shopify shotstack
shutterstock signable signalwire signaturit signupgenius sigopt siliconflow simplesat simplybook
simplynoted simvoly sinch singlestore sirv siteleaf sketchfab skrapp skybiometry smartsheet
smartystreets smooch smsapi smtp2go snipcart snipe_it snyk solscan sonarcloud sonarqube sonatype
sourcegraph sparkpost speechmatics speechtextai splunk spoonacular sportradar sportsmonk spotify
square squarespace squareup sslmate stability_ai stackhawk statuscake statuspage statuspal
steam_web stepfun stitchdata stockdata storecove stormboard stormglass storyblok storychief strava
streamchat stripo stytch sugester sumo_logic sumologic sumsub supabase supernotes surveyanyplace
surveybot surveymonkey surveysparrow survicate svix swiftype tableau tailscale talkjs tallyfy
tatumio tavily taxjar teamcity teamgate teamviewer teamwork telegram telesign teletype telnyx
tencent tenderly terraform testingbot text2data textmagic thinkific thirdweb thousandeyes
ticketmaster tickettailor tiingo tiktok timecamp timezoneapi tinybird tmdb tmetric todoist
together_ai toggl tokeet tolgee tomorrowio tomtom traceloop tradier transferwise transifex
travelpayouts travis travis_ci travisci trello trigger_dev trimble turbopuffer turso twelvedata
twilio twingate twitch twitter tyntec typeform typesense typetalk ubidots unifyid unkey unplugg
unsplash upcdatabase uplead uploadcare upstage upstash uptimerobot uptrends upwave urlscan
userflow userstack vatlayer vectara veevavault venafi veracode vercel verimail veriphone
versioneye viewneo vimeo virustotal visualcrossing voiceflow voicegain volcengine vonage voodoosms
vouchery voyageai vpnapi vultr vyte wakatime walkscore wandb weatherapi weatherbit weatherstack
weaviate web3storage webengage webex webflow webscraper webscraping websitepulse wechat weglot
wepay whoxy wistia woocommerce woopra wordsapi workos worksnaps workstack worldcoinindex
worldweather wpengine wrike wunderground xata xendit yandex yelp yext yotpo yousign youtube zapier
zeabur zendesk zenkit zenrows zenscrape zenserp zeplin zerobounce zerotier zhipu zilliz zipapi
zipbooks zipcodeapi zoho zonkafeedback zoom_us zoominfo zscaler zulip zulipchat zuora
"""

SERVICES = tuple(_SERVICES.split())
"""The names, each long or odd enough to be no other word; `_` is a joint: `new-relic`, `newrelic`.

Words of the language (`box`, `front`, `privacy`) are left to the fields whose names say "key".
"""

_JOINT = r"[ _.-]{0,3}"
_OF_A_KEY = (
    "access|account|admin|api|app|application|auth|bearer|bot|client|consumer|credentials?|data"
    "|dev|developer|hec|ingest|insert|integration|io|ai|key|keys|license|live|login|master|oauth2?|org"
    "|pass|password|pat|personal|priv|private|prod|production|project|pub|public|publish|read"
    "|refresh|rest|sandbox|search|secret|server|service|sid|signing|subscribe|subscription|test"
    "|token|upload|user|v[0-9]|web|webhook|write"
)
_WORDS = (
    rf"(?:{_JOINT}(?:{_OF_A_KEY})){{0,5}}"
    rf"(?:{_JOINT}(?:client|consumer|key|access|app){_JOINT}id)?(?:{_JOINT}(?:key|value))?"
)
_OTHER_WORDS = (
    rf"(?:{_JOINT}[a-z0-9]{{1,16}}){{0,3}}{_JOINT}(?:api|key|token|secret|password|pat|hec)"
    rf"(?:{_JOINT}[0-9]{{1,2}})?"
)
"""Any words, where the last one says what it is."""
_QUOTES = r"[\"'`\\\[({]{0,3}"
_LINK = (
    rf"(?: {{1,2}}|[\"'`\\\])]{{0,3}}\s{{0,4}}(?:[:=]{{1,4}}>?|[?|.&+-]?=|->|\|\||[>,(])\s{{0,8}})"
    rf"{_QUOTES}"
)
_VALUE = (
    r"(?:\d{6,20}[:|%][\w-]{16,100}|[0-9a-f]{8}:[0-9a-f]{8}|s\.[A-Za-z0-9]{24}"
    r"|[a-z0-9]{2,4}(?:\.[\w-]{16,}){2,4}"
    r"|[\w+/-][\w+/=-]{11,399}(?:[.!~|][\w+/=-]{6,}){0,4})"
)


def anchors_of(service: str) -> tuple[str, ...]:
    """The spellings of a service's name."""
    return tuple(dict.fromkeys(service.replace("_", joint) for joint in ("", "_", "-")))


_NAMES = tuple(dict.fromkeys(name for service in SERVICES for name in anchors_of(service)))

RULES = (
    Rule(
        kind="service-key",
        family="vendor",
        anchors=_NAMES,
        pattern=f"(?:{'|'.join(_NAMES)})(?:{_WORDS}|{_OTHER_WORDS}){_LINK}(?P<value>{_VALUE})",
        gate="digest",
        ignore_case=True,
        inside_word=True,
        true=(
            ("DATADOG_API_KEY=", hexes(32), "\n"),
            ("new-relic license key: ", hexes(40), " "),
            ("'cohere' : '", alnum(40), "',"),
            ("herokuKey = `", UUID, "`"),
            ("<okta_token>\n  ", "00" + url_safe(40), "\n</okta_token>"),
            ("{amplitude ", hexes(32), "}"),
            ("grafana: '", "eyJr" + url_safe(90) + "." + url_safe(200) + "." + url_safe(43), "'"),
            ("AZURE_COMPUTER_VISION_KEY=", "abcdef0123456789abcdef0123456789", "\n"),
            ("clarifai_api = ", "cf3cacafabe747988298298bffcbb459", "\n"),
            ("deepgram token 1 == ", "1f8946087e64b14dffd069b78554e217b3ed34d4", ""),
            ("vault-mapbox=", "pk." + alnum(60) + "." + alnum(22), ""),
        ),
        false=(
            "DATADOG_API_KEY=",
            "datadog_api_key = os.environ['DD_API_KEY']",
            "sentry-trace: " + hexes(32) + "-" + hexes(16) + "-1",
            "BUILDKITE_COMMIT=" + hexes(40),
            "codecov/codecov-action@" + hexes(40),
            "cloudflare: the_worker_is_deployed_from_here",
            "sentry a_long_name_of_a_function_2",
            '"mapbox-gl": "1.13.0"',
            "grafana/grafana:sha256:" + hexes(64),
            "AZURE_COMPUTER_VISION_KEY=$KEY",
            f"azureSubscription: 'Azure subscription 1({UUID})'",
            "cloudflare cache key: " + "0" * 32,
        ),
    ),
)
